"""Where settings come from, which of them wins, and what becomes of them."""

from pathlib import Path
from typing import Any

import pytest

from graspd.errors import SettingError
from graspd.nostr.relay_url import Domain
from graspd.settings import Settings, load


def given(**values: Any) -> Settings:
    """The settings of an operator who gives just these."""
    return load(values, None, {})[0]


def test_flags_beat_environment_beats_file(tmp_path: Path) -> None:
    file = tmp_path / "graspd.toml"
    file.write_text("name = 'file'\ncontact = 'file'\ndescription = 'file'")
    environment = {"GRASPD_CONTACT": "environment", "GRASPD_DESCRIPTION": "environment", "OTHER": "x"}

    settings, origins = load({"description": "flag", "domain": None}, file, environment)

    assert (settings.name, settings.contact, settings.description) == ("file", "environment", "flag")
    wanted = {"name": f"file {file}", "contact": "environment", "description": "flag", "domain": "default"}
    assert {name: origins[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("bind", "domain", "public"),
    [
        ("127.0.0.1:7334", "", Domain("127.0.0.1", 7334)),
        ("127.0.0.1:7334", "relay.example", Domain("relay.example")),
        ("0.0.0.0:80", "Relay.Example:8080", Domain("relay.example", 8080)),
        ("[::1]:7334", "", Domain("::1", 7334)),
    ],
)
def test_the_domain_is_the_bind_address_unless_said(bind: str, domain: str, public: Domain) -> None:
    assert given(bind=bind, domain=domain).public_domain == public


@pytest.mark.parametrize(
    ("bind", "host", "port"),
    [("127.0.0.1:7334", "127.0.0.1", 7334), ("[::1]:80", "::1", 80), ("localhost:443", "localhost", 443)],
)
def test_host_and_port_of_the_bind_address(bind: str, host: str, port: int) -> None:
    settings = given(bind=bind)

    assert (settings.bind_host, settings.bind_port) == (host, port)


@pytest.mark.parametrize(("text", "value"), [("on", True), ("false", False), ("1", True), ("0", False), ("no", False)])
def test_a_switch_in_the_environment(text: str, value: bool) -> None:
    assert load({}, None, {"GRASPD_NEGENTROPY": text})[0].negentropy is value


@pytest.mark.parametrize(("text", "value"), [("", []), ("a", ["a"]), (" a , b,,c ", ["a", "b", "c"])])
def test_a_list_in_the_environment(text: str, value: list[str]) -> None:
    assert load({}, None, {"GRASPD_ARCHIVE": text})[0].archive == value


@pytest.mark.parametrize("name", ["results_max", "query_s_max", "name", "archive", "data_dir"])
def test_true_is_no_number_text_or_list(tmp_path: Path, name: str) -> None:
    file = tmp_path / "graspd.toml"
    file.write_text(f"{name} = true")

    with pytest.raises(SettingError, match=name):
        load({}, file, {})


def test_every_default_is_valid_when_given() -> None:
    for name, field in Settings.model_fields.items():
        default = field.get_default(call_default_factory=True)
        assert getattr(given(**{name: default}), name) == default
        assert field.description, name


def test_what_the_rules_and_the_sessions_are_told() -> None:
    settings = given(event_bytes_max=5000, future_s_max=7, subscriptions_max=3, negentropy=False, archive=["x"])

    assert (settings.policy().event_bytes_max, settings.policy().future_s_max) == (5000, 7)
    assert settings.policy().archive.identifiers == {"x"}
    assert settings.relay_limits().subscriptions_max == 3
    assert settings.relay_limits().negentropy is False
