"""An operator's mistake is one line that names it, and exit code 2."""

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from graspd import cli
from tests.cli.command import clean_environment, graspd
from tests.peers.graspd_relay import GraspdRelay

Told = Callable[..., str]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Told:
    """Run a command in this process, which is enough for one that gets no further than its settings."""

    def run(*arguments: str, file: str | None = None, **environment: str) -> str:
        if file is not None:
            (tmp_path / "graspd.toml").write_text(file)
            arguments = (*arguments, "--config", str(tmp_path / "graspd.toml"))
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("os.environ", clean_environment(environment))
        # A mistake that is not noticed must not start a server here.
        monkeypatch.setattr("uvloop.run", lambda serving: serving.close())
        monkeypatch.setattr("sys.argv", ["graspd", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        written = capsys.readouterr()
        assert ended.value.code == 2
        assert written.out == ""
        assert written.err.startswith("graspd: ")
        assert written.err.count("\n") == 1, written.err
        return written.err

    return run


@pytest.mark.parametrize("command", ["serve", "settings", "import", "export"])
def test_every_command_refuses_a_wrong_setting(told: Told, command: str) -> None:
    assert "results_max = 'many' (from environment)" in told(command, GRASPD_RESULTS_MAX="many")


@pytest.mark.parametrize(
    "bind", ["7334", "127.0.0.1", "127.0.0.1:", ":7334", "127.0.0.1:99999", "a b:1", "host:80x", "::1:7334"]
)
def test_bind_is_host_and_port(told: Told, bind: str) -> None:
    assert f"bind = {bind!r} (from flag)" in told("serve", "--bind", bind)


@pytest.mark.parametrize("domain", ["https://a.example", "a.example/path", "a b", "a.example:x", "user@a.example"])
def test_domain_is_host_or_host_and_port(told: Told, domain: str) -> None:
    assert f"domain = {domain!r} (from flag)" in told("serve", "--domain", domain)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("results_max", "many"),
        ("results_max", "0"),
        ("results_max", "1.5"),
        ("events_per_minute", "-1"),
        ("handshake_s_max", "0"),
        ("idle_s_max", "soon"),
        ("negentropy", "perhaps"),
        ("log_level", "loud"),
        ("neg_frame_bytes_max", "100"),
        ("archive", "npub1xyz"),
        ("blocked_repositories", "nobody/repo"),
        ("blocked_authors", "abcdef"),
        ("trusted_proxies", "10.0.0.0/99"),
        ("trusted_proxies", "proxy.example"),
        ("owner_pubkey", "npub1xyz"),
    ],
)
def test_a_value_of_the_environment_that_cannot_be(told: Told, name: str, value: str) -> None:
    assert f"{name} = " in told("serve", **{f"GRASPD_{name.upper()}": value})


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("nope = 1", "'nope'"),
        ("[relay]\nbind = '127.0.0.1:1'", "'relay'"),
        ("results_max = 'many'", "results_max"),
        ("results_max = true", "results_max"),
        ("archive = 'npub'", "archive"),
        ("archive = [1]", "archive"),
        ("name = 5", "name"),
        ("bind = = 1", "not valid TOML"),
        ("bind = '127.0.0.1:1'\nbind = '127.0.0.1:2'", "not valid TOML"),
    ],
)
def test_a_file_that_is_wrong(told: Told, text: str, named: str) -> None:
    line = told("serve", file=text)

    assert named in line
    assert "graspd.toml" in line


def test_a_file_that_cannot_be_read(told: Told, tmp_path: Path) -> None:
    assert "nowhere.toml cannot be read" in told("serve", "--config", "nowhere.toml")
    assert "cannot be read" in told("serve", "--config", str(tmp_path))
    assert "cannot be read" in told("settings", GRASPD_CONFIG="nowhere.toml")
    (tmp_path / "latin1.toml").write_bytes(b"name = '\xff'")
    assert "not valid TOML" in told("serve", "--config", "latin1.toml")


def test_an_environment_variable_that_is_no_setting(told: Told) -> None:
    assert "GRASPD_RESULT_MAX" in told("serve", GRASPD_RESULT_MAX="5")


def test_a_data_directory_that_cannot_be(told: Told, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert "data directory file" in told("import", "file", "--data-dir", "file")
    assert "data directory file/below" in told("import", "file", "--data-dir", "file/below")
    # Not even root writes here.
    assert "data directory /proc/graspd" in told("import", "file", "--data-dir", "/proc/graspd")


def test_nothing_to_export_or_import(told: Told) -> None:
    assert "nowhere" in told("export", "--data-dir", "nowhere")
    assert "nowhere.jsonl cannot be read" in told("import", "nowhere.jsonl")


def test_a_data_directory_in_use_names_who_uses_it() -> None:
    with GraspdRelay() as relay:
        data_dir = relay.data_dir / "data"
        for arguments in (["serve", "--bind", "127.0.0.1:1"], ["import"]):
            ended = graspd(*arguments, "--data-dir", data_dir)

            assert ended.code == 2
            assert ended.err.count("\n") == 1
            assert f"pid {relay.pid}" in ended.err


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        bind = f"127.0.0.1:{taken.getsockname()[1]}"

        ended = graspd("serve", "--bind", bind, "--data-dir", tmp_path / "data")

    assert ended.code == 2
    assert ended.err.count("\n") == 1
    assert f"bind = {bind!r}" in ended.err


@pytest.mark.parametrize("arguments", [["serve", "--nope"], ["nope"], ["serve", "extra"]])
def test_a_wrong_command_line_says_how_to_get_help(arguments: list[str]) -> None:
    ended = graspd(*arguments)

    assert ended.code == 2
    assert "--help" in ended.err
