"""`graspd settings`: every setting, its value and where it came from; flags beat environment beats file."""

from pathlib import Path

import pytest

from graspd.settings import ENV_PREFIX, Settings
from tests.cli.command import graspd


def test_every_setting_is_listed_with_its_help() -> None:
    ended = graspd("settings")

    assert ended.code == 0
    for name, described in Settings.model_fields.items():
        assert f"{ENV_PREFIX}{name.upper()}=" in ended.out
        assert described.description
        assert described.description in ended.out
    assert ended.out.count("[default]") == len(Settings.model_fields)


@pytest.mark.parametrize(
    ("flags", "environment", "file", "expected"),
    [
        ([], {}, "", "GRASPD_DOMAIN=  [default]"),
        ([], {}, "domain = 'file.example'", "GRASPD_DOMAIN=file.example  [file graspd.toml]"),
        ([], {"GRASPD_DOMAIN": "env.example"}, "domain = 'file.example'", "GRASPD_DOMAIN=env.example  [environment]"),
        (
            ["--domain", "flag.example"],
            {"GRASPD_DOMAIN": "env.example"},
            "domain = 'file.example'",
            "GRASPD_DOMAIN=flag.example  [flag]",
        ),
    ],
)
@pytest.mark.parametrize("config_by", ["flag", "environment"])
def test_flags_beat_environment_beats_file(
    tmp_path: Path, flags: list[str], environment: dict[str, str], file: str, expected: str, config_by: str
) -> None:
    (tmp_path / "graspd.toml").write_text(file)
    settings = dict(environment)
    if config_by == "flag":
        flags = [*flags, "--config", "graspd.toml"]
    else:
        settings["GRASPD_CONFIG"] = "graspd.toml"

    ended = graspd("settings", *flags, settings=settings, cwd=tmp_path)

    assert ended.code == 0
    assert expected in ended.out.splitlines()


def test_lists_come_from_the_file_and_from_the_environment(tmp_path: Path) -> None:
    (tmp_path / "graspd.toml").write_text("archive = ['one', 'two']\nnegentropy = false\nresults_max = 7")

    ended = graspd(
        "settings", "--config", tmp_path / "graspd.toml", settings={"GRASPD_TRUSTED_PROXIES": "10.0.0.1, ::1"}
    )

    lines = [line.partition("  [")[0] for line in ended.out.splitlines()]
    assert {"GRASPD_ARCHIVE=one,two", "GRASPD_TRUSTED_PROXIES=10.0.0.1,::1", "GRASPD_RESULTS_MAX=7"} <= set(lines)
    assert "GRASPD_NEGENTROPY=False" in lines
