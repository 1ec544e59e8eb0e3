"""Every limit of the sync engine is a setting with its reason; bootstrap relays are read in one spelling."""

from dataclasses import asdict, fields
from typing import Any

import pytest

from graspd.errors import SettingError
from graspd.settings import Settings, load
from graspd.sync import SyncLimits

LIMITS = [limit.name for limit in fields(SyncLimits)]


@pytest.mark.parametrize("name", LIMITS)
def test_limit_is_a_setting_with_its_reason(name: str) -> None:
    described = Settings.model_fields[f"sync_{name}"]

    assert described.default == asdict(SyncLimits())[name]
    assert described.description


def test_defaults_are_the_limits_own() -> None:
    settings, _ = load({}, None, {})

    assert settings.sync_limits() == SyncLimits()


def test_limit_can_be_set() -> None:
    settings, origins = load({}, None, {"GRASPD_SYNC_WINDOW_S": "0.5", "GRASPD_SYNC_NEGENTROPY": "off"})

    assert settings.sync_limits() == SyncLimits(window_s=0.5, negentropy=False)
    assert origins["sync_window_s"] == "environment"


@pytest.mark.parametrize("value", ["0", "-1", "much"])
def test_limit_of_nothing_is_refused(value: str) -> None:
    with pytest.raises(SettingError, match="sync_batch_items"):
        load({}, None, {"GRASPD_SYNC_BATCH_ITEMS": value})


@pytest.mark.parametrize(
    ("given", "peers"),
    [
        ([], ()),
        (["relay.example"], ("wss://relay.example",)),
        (["WSS://Relay.Example/", "ws://b.example:80"], ("wss://relay.example", "ws://b.example")),
    ],
)  # fmt: skip
def test_bootstrap_is_read_in_one_spelling(given: list[str], peers: tuple[str, ...]) -> None:
    settings, _ = load({"bootstrap": given}, None, {})

    assert settings.bootstrap_peers() == peers


@pytest.mark.parametrize("given", ["http://relay.example", "wss://a b", ""])
def test_what_is_no_relay_is_refused(given: Any) -> None:
    with pytest.raises(SettingError, match="bootstrap"):
        load({"bootstrap": [given]}, None, {})
