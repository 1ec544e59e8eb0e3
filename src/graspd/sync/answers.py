"""What a peer's messages mean to an open link: each is handed to the transfer or live subscription it belongs to.

A message for something that is over is normal and means nothing. Decides nothing about the link itself.
"""

from typing import assert_never

from graspd.nostr.event import Event
from graspd.nostr.prefix import Prefix
from graspd.sync.desk import Desk, Gap
from graspd.sync.effects import Source, Way
from graspd.sync.inputs import (
    AuthAnswered,
    AuthChallenged,
    ClosedArrived,
    EoseArrived,
    EventArrived,
    Heard,
    JunkArrived,
    NegErrArrived,
    NegMsgArrived,
    NoticeArrived,
)
from graspd.sync.link import Link
from graspd.sync.reports import Offence
from graspd.types import SubId

_LIMIT_ZERO = "limit"  # what a relay's text names that does not take `limit: 0`


def hear(answer: Heard, link: Link, desk: Desk) -> None:
    """Take in one message of the peer."""
    line = link.line
    line.hear()
    match answer:
        case EventArrived(_, sub, event):
            _hear_event(sub, event, link, desk)
        case EoseArrived(_, sub, hint):
            transfer = line.owner_of(sub)
            if transfer is not None:
                transfer.on_eose(hint)
            else:
                line.live_answered(sub)
        case ClosedArrived():
            _hear_closed(answer, link)
        case NegMsgArrived(_, sub, message):
            transfer = line.owner_of(sub)
            if transfer is not None:
                transfer.on_neg_msg(message)
        case NegErrArrived():
            _hear_neg_err(answer, link)
        case NoticeArrived(_, text):
            line.noticed(text)
        case AuthChallenged():
            line.challenged()
        case AuthAnswered(_, accepted, _):
            line.auth.answered(accepted=accepted)
        case JunkArrived(_, why):
            line.offend(Offence.JUNK, why)
        case _:
            assert_never(answer)


def _hear_event(sub: SubId, event: Event, link: Link, desk: Desk) -> None:
    transfer = link.line.owner_of(sub)
    if transfer is not None:
        transfer.on_event(event)
    elif not desk.concerns(event):
        link.line.offend(Offence.UNASKED, f"kind {event.kind}")
    elif sub in link.live.open:
        desk.take(event, Source(Way.LIVE, link.owner.url), Gap.NONE, None)
    elif link.line.was_ours(sub):
        desk.take(event, Source(Way.CATCH_UP, link.owner.url), Gap.NONE, None)
    else:
        link.line.offend(Offence.UNASKED, "for no request of ours")


def _hear_closed(answer: ClosedArrived, link: Link) -> None:
    line, sub = link.line, answer.sub
    transfer = line.owner_of(sub)
    if transfer is not None:
        line.drop(sub)
        if line.passes(answer.prefix, answer.text):
            line.interrupt(transfer, answer.text)
        else:
            transfer.on_closed(answer.text)
    elif sub in link.live.open:
        line.drop(sub)
        passes = line.passes(answer.prefix, answer.text)
        if not passes and not link.owner.refuses_limit_zero and _LIMIT_ZERO in answer.text.lower():
            link.owner.refuses_limit_zero = passes = True
        link.live_closed(link.live.closed(sub), passes=passes)
    else:
        line.heed(answer.prefix, answer.text)


def _hear_neg_err(answer: NegErrArrived, link: Link) -> None:
    line, sub = link.line, answer.sub
    transfer = line.owner_of(sub)
    if transfer is None:
        line.heed(answer.prefix, answer.text)
        return
    line.drop(sub)
    # `blocked:` speaks of the size of this one session, though its text says "too many" as well.
    about_size = answer.prefix is Prefix.BLOCKED or answer.records_max is not None
    if not about_size and line.passes(answer.prefix, answer.text):
        line.interrupt(transfer, answer.text)
    else:
        transfer.on_neg_err(answer.prefix, answer.text, answer.records_max)
