"""The table of a peer's life: closed in itself, and quoted in docs/sync.md as it is."""

from pathlib import Path

import pytest

from graspd.sync.lifecycle import CONNECTED, TRANSITIONS, State, Trigger, moved

DOCS = Path(__file__).parents[2] / "docs" / "sync.md"


def test_every_state_is_reached_and_every_state_but_the_last_is_left() -> None:
    assert set(TRANSITIONS.values()) | {State.PARKED} == set(State)
    assert {was for was, _ in TRANSITIONS} == set(State) - {State.GONE}
    assert {trigger for _, trigger in TRANSITIONS} == set(Trigger)


def test_only_a_dial_that_opened_connects() -> None:
    into = {was for (was, _), became in TRANSITIONS.items() if became in CONNECTED and was not in CONNECTED}
    assert into == {State.DIALING}


def test_a_move_that_is_not_in_the_table_is_a_bug_of_ours() -> None:
    with pytest.raises(AssertionError, match="cannot be"):
        moved(State.GONE, Trigger.OPENED)


def test_the_docs_quote_the_table() -> None:
    rows = [f"| {was.value} | {trigger.value} | {became.value} |" for (was, trigger), became in TRANSITIONS.items()]
    text = DOCS.read_text(encoding="utf-8")
    quoted = [line for line in text.splitlines() if line.count("|") == 4 and line.split("|")[1].strip() in _states()]
    assert quoted == rows


def _states() -> set[str]:
    return {state.value for state in State}
