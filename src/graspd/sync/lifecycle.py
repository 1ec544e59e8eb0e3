"""A peer's life as one table: which states there are, what moves a peer between them, and nothing else.

What a move does (dial, subscribe, back off) is in engine.py and peer.py; docs/sync.md quotes this table.
"""

from enum import Enum
from typing import Final


class State(Enum):
    """Where a peer is. Health, rate limits and the sync itself are beside this, not in it."""

    PARKED = "parked"  # wanted, but there are as many peers as we keep
    WAITING = "waiting"  # not connected; dialled when its time comes
    DIALING = "dialing"
    SYNCING = "syncing"  # connected; something wanted is not confirmed yet
    LIVE = "live"  # connected; everything wanted is confirmed
    RESTING = "resting"  # misbehaved; left alone for a while
    GONE = "gone"  # nothing wants it any more


class Trigger(Enum):
    """What moves a peer."""

    ADMITTED = "admitted"  # there is room for it
    CROWDED_OUT = "crowded out"  # another peer has a better claim to the room
    DUE = "due"
    OPENED = "opened"
    FAILED = "failed"
    LOST = "lost"
    CAUGHT_UP = "caught up"
    FELL_BEHIND = "fell behind"  # something new is wanted, or everything is to be checked again
    OVERSPENT = "overspent"  # used up its budget of misbehaviour
    RESTED = "rested"
    DROPPED = "dropped"


_S, _T = State, Trigger

TRANSITIONS: Final[dict[tuple[State, Trigger], State]] = {
    (_S.PARKED, _T.ADMITTED): _S.WAITING,
    (_S.PARKED, _T.DROPPED): _S.GONE,
    (_S.WAITING, _T.DUE): _S.DIALING,
    (_S.WAITING, _T.CROWDED_OUT): _S.PARKED,
    (_S.WAITING, _T.DROPPED): _S.GONE,
    (_S.DIALING, _T.OPENED): _S.SYNCING,
    (_S.DIALING, _T.FAILED): _S.WAITING,
    (_S.DIALING, _T.CROWDED_OUT): _S.PARKED,
    (_S.DIALING, _T.DROPPED): _S.GONE,
    (_S.SYNCING, _T.CAUGHT_UP): _S.LIVE,
    (_S.SYNCING, _T.LOST): _S.WAITING,
    (_S.SYNCING, _T.OVERSPENT): _S.RESTING,
    (_S.SYNCING, _T.CROWDED_OUT): _S.PARKED,
    (_S.SYNCING, _T.DROPPED): _S.GONE,
    (_S.LIVE, _T.FELL_BEHIND): _S.SYNCING,
    (_S.LIVE, _T.LOST): _S.WAITING,
    (_S.LIVE, _T.OVERSPENT): _S.RESTING,
    (_S.LIVE, _T.CROWDED_OUT): _S.PARKED,
    (_S.LIVE, _T.DROPPED): _S.GONE,
    (_S.RESTING, _T.RESTED): _S.WAITING,
    (_S.RESTING, _T.DROPPED): _S.GONE,
}

CONNECTED: Final = (State.SYNCING, State.LIVE)


def moved(state: State, trigger: Trigger) -> State:
    """The state after a move. A move that is not in the table is a bug of ours."""
    assert (state, trigger) in TRANSITIONS, f"a peer that is {state.value} cannot be {trigger.value}"
    return TRANSITIONS[state, trigger]
