"""From what a relay says to what the engine is told, as the real links do it."""

from typing import Any

from graspd.nostr import relay_messages as r
from graspd.sync import inputs as i
from graspd.types import EventId, LinkId

_HINTS = {None: i.EoseHint.NONE, True: i.EoseHint.FINISH, False: i.EoseHint.MORE}


def heard(link: LinkId, message: r.RelayMessage, auth_id: EventId | None) -> i.Input:
    """The input that a message of a relay is."""
    match message:
        case r.RelayEvent(sub, event):
            return i.EventArrived(link, sub, event)
        case r.RelayEose(sub, complete):
            return i.EoseArrived(link, sub, _HINTS[complete])
        case r.RelayClosed(sub, prefix, text):
            return i.ClosedArrived(link, sub, prefix, text)
        case r.RelayNotice(text):
            return i.NoticeArrived(link, text)
        case r.RelayOk(event_id, accepted, _, text):
            if event_id != auth_id:
                return i.JunkArrived(link, "an OK to nothing we sent")
            return i.AuthAnswered(link, accepted, text)
        case r.RelayAuth():
            return i.AuthChallenged(link)
        case r.RelayNegMsg(sub, step):
            return i.NegMsgArrived(link, sub, step)
        case r.RelayNegErr(sub, prefix, text, records_max):
            return i.NegErrArrived(link, sub, prefix, text, records_max)
        case r.Junk(why):
            return i.JunkArrived(link, why)


def terms_of(document: dict[str, Any]) -> i.PeerTerms:
    """What a NIP-11 document of this world says."""
    limitation = document["limitation"]
    return i.PeerTerms(
        message_bytes_max=limitation["max_message_length"],
        subscriptions_max=limitation["max_subscriptions"],
        filters_max=limitation["max_filters"],
        limit_max=limitation["max_limit"],
        negentropy=77 in document["supported_nips"],
    )
