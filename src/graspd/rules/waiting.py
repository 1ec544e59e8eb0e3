"""What a rejected event waits for, and what a stored event may end the waiting of.

Both sides speak in keys. An event rejected for a reason that may change is worth judging again once an event is stored
that provides one of its keys, and not before: `judge` looks at nothing else that these keys leave out. But for one
thing: an event that came too late to be stored still makes its author somebody who was here, which is what a list of
GRASP servers waits for. The next event of that author that is stored brings the list in.

    d:<identifier>   an announcement of this identifier
    i:<id>           this event            t:<id>        some event that tags this id
    a:<address>      this address          g:<address>   some event that tags this address
    p:<pubkey>       any event of this author
"""

from graspd.nostr.event import Event
from graspd.nostr.kinds import ANNOUNCEMENT, DELETION, VANISH
from graspd.rules.verdict import Reason


def waits_for(event: Event, reason: Reason) -> tuple[str, ...]:
    """The keys one of which must arrive before a rejected event can be accepted; none where nothing helps."""
    match reason:
        case Reason.SERVICE_NOT_LISTED | Reason.NO_ANNOUNCEMENT | Reason.NOT_ENTITLED:
            return (f"d:{event.identifier}",)
        case Reason.UNRELATED:
            own = [f"t:{event.id}"] if event.address is None else [f"t:{event.id}", f"g:{event.address}"]
            ids = [f"i:{event_id}" for event_id in event.references.ids]
            addresses = [f"a:{address}" for address in event.references.addresses]
            return tuple(dict.fromkeys([*own, *ids, *addresses]))
        case Reason.CONCERNS_OTHERS if event.kind != VANISH:
            return (f"p:{event.pubkey}",)
        case _:
            return ()


def provides(event: Event) -> tuple[str, ...]:
    """The keys that a stored event provides."""
    keys = [f"i:{event.id}", f"p:{event.pubkey}"]
    if event.kind == ANNOUNCEMENT:
        keys.append(f"d:{event.identifier}")
    if event.address is not None:
        keys.append(f"a:{event.address}")
    if event.kind != DELETION:
        keys.extend(f"t:{event_id}" for event_id in event.references.ids)
        keys.extend(f"g:{address}" for address in event.references.addresses)
    return tuple(dict.fromkeys(keys))
