"""Findings become one line each, at the level of the papers' table; a warning is written once and then counted."""

import logging

import pytest

from graspd.peers.log import AGAIN_S, CAUSES_MAX, FindingLog, line_of
from graspd.sync import reports as f
from graspd.sync.lifecycle import State, Trigger
from graspd.types import EventId, Monotonic, RelayUrl

PEER, OTHER = RelayUrl("wss://a.example"), RelayUrl("wss://b.example")
ID = EventId("ab" * 32)


class Written:
    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self.mono = 0.0
        self._caplog = caplog
        caplog.set_level(logging.DEBUG)
        self.log = FindingLog(logging.getLogger("graspd.sync"), lambda: Monotonic(self.mono))

    def __call__(self, *findings: f.Finding) -> list[tuple[str, str]]:
        self._caplog.clear()
        for finding in findings:
            self.log.write(finding)
        return [(record.levelname, record.getMessage()) for record in self._caplog.records]


@pytest.fixture
def written(caplog: pytest.LogCaptureFixture) -> Written:
    return Written(caplog)


def moved(trigger: Trigger, why: str = "", peer: RelayUrl = PEER) -> f.PeerMoved:
    return f.PeerMoved(peer, State.DIALING, trigger, State.WAITING, why)


@pytest.mark.parametrize(
    ("finding", "level"),
    [
        (moved(Trigger.DUE), "DEBUG"),
        (moved(Trigger.OPENED), "INFO"),
        (moved(Trigger.FAILED, "connection refused"), "WARNING"),
        (moved(Trigger.LOST, "closed by the peer"), "WARNING"),
        (f.PeerDied(PEER, 86_400), "ERROR"),
        (f.GapFound(PEER, ID), "WARNING"),
        (f.SustainedGapFound(PEER, ID), "ERROR"),
        (f.PeerLacks(PEER, 3), "WARNING"),
        (f.RateLimited(PEER, 65.0, "slow down"), "WARNING"),
        (f.BatchEnded(PEER, f.SyncKind.FRESH, True, 3, f.Method.WALKED), "DEBUG"),
    ],
)
def test_level(written: Written, finding: f.Finding, level: str) -> None:
    assert [line[0] for line in written(finding)] == [level]


def test_line_names_everything_in_one_line() -> None:
    finding = f.RateLimited(PEER, 65.0, 'slow\ndown "now"\x1b[31m\u2028')

    assert line_of(finding) == (
        'rate_limited peer=wss://a.example for_s=65 text="slow\\ndown \\"now\\"\\u001b[31m\\u2028"'
    )


def test_failure_says_how_often_and_when_it_is_tried_again() -> None:
    finding = f.PeerMoved(PEER, State.DIALING, Trigger.FAILED, State.WAITING, "connection refused", 3, 20.0)

    assert line_of(finding) == (
        'peer_moved peer=wss://a.example was=dialing trigger=failed became=waiting why="connection refused" '
        "failures=3 retry_s=20"
    )


def test_long_list_is_cut() -> None:
    ids = tuple(EventId(f"{number:064x}") for number in range(9))
    line = line_of(f.BatchEnded(PEER, f.SyncKind.DAILY, False, 2, f.Method.RECONCILED, ids, "unserved"))

    assert line.startswith("batch_ended peer=wss://a.example kind=daily confirmed=false items=2 method=reconciled")
    assert line.count("0000") > 5
    assert "+4" in line


def test_warning_is_written_once_for_each_peer_and_cause(written: Written) -> None:
    assert len(written(*[f.GapFound(PEER, EventId(f"{number:064x}")) for number in range(50)])) == 1
    assert len(written(f.GapFound(OTHER, ID))) == 1
    assert len(written(*[moved(Trigger.FAILED, f"network failed: {number}") for number in range(9)])) == 1
    assert len(written(moved(Trigger.FAILED, "connection refused"))) == 1
    assert len(written(moved(Trigger.LOST, "network failed"))) == 1


def test_what_was_kept_back_is_counted(written: Written) -> None:
    written(*[f.GapFound(PEER, ID)] * 8)
    written.mono = AGAIN_S

    assert written(f.GapFound(PEER, ID)) == [("WARNING", f"gap_found peer=wss://a.example event_id={ID} unsaid=7")]
    assert written(f.GapFound(PEER, ID)) == []


def test_information_is_not_kept_back(written: Written) -> None:
    assert len(written(moved(Trigger.OPENED), moved(Trigger.OPENED))) == 2


def test_memory_is_bounded(written: Written) -> None:
    for number in range(CAUSES_MAX + 10):
        written.log.write(f.PeerLacks(RelayUrl(f"wss://{number}.example"), 1))

    assert len(written.log.repeats) == CAUSES_MAX
