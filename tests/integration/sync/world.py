"""What the sync tests share: repositories with events on every layer, our relay in a hurry, and waiting for conditions.

Must not sleep for luck: `eventually` asks again and again until its deadline, and then says what was still wrong.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from graspd.nostr import kinds
from graspd.nostr.event import Event
from graspd.nostr.nip19 import encode_npub
from tests.conformance.client import Client
from tests.conformance.people import Person
from tests.peers.graspd_relay import GraspdRelay

DOMAIN = "grasp.test"  # by which announcements name the relay under test
POLL_S = 0.05
DEADLINE_S = 30.0
COMMENT, NOTE = 1111, 1
# A test has no hours: the same engine, its times divided.
HASTE = {
    "sync_window_s": "0.2",
    "sync_backoff_s_first": "0.3",
    "sync_backoff_s_max": "1",
    "sync_sweep_s": "0.5",
    "sync_save_s": "0.3",
    "sync_retry_s_first": "0.5",
    "sync_negentropy_first_s": "1",
}


def syncing(bootstrap: Iterable[str] = (), settings: Mapping[str, str] | None = None) -> GraspdRelay:
    """Our relay, known as DOMAIN, dialling loopback."""
    return GraspdRelay(
        settings={
            "domain": DOMAIN,
            "sync": "on",
            "allow_private_peers": "on",
            "bootstrap": ",".join(bootstrap),
            "events_per_minute": "0",
            "connections_per_address": "0",
            "log_level": "debug",
            **HASTE,
            **(settings or {}),
        }
    )


def announced(owner: Person, identifier: str, relays: Iterable[str], at: int | None = None) -> Event:
    """A repository hosted by DOMAIN and by every relay given (as a URL)."""
    domains = [DOMAIN, *(url.removeprefix("ws://") for url in relays)]
    npub = encode_npub(owner.pubkey)
    return owner.signs(
        kinds.ANNOUNCEMENT,
        ["d", identifier],
        ["clone", *(f"http://{domain}/{npub}/{identifier}.git" for domain in domains)],
        ["relays", *(f"ws://{domain}" for domain in domains)],
        at=at,
    )


def address(owner: Person, identifier: str) -> str:
    """How other events name the repository."""
    return f"{kinds.ANNOUNCEMENT}:{owner.pubkey}:{identifier}"


def about(owner: Person, identifier: str, count: int = 1) -> list[Event]:
    """Events of each sort that belongs to a repository: by a, A and q, and by e, E and q of its issues."""
    repo = address(owner, identifier)
    events = [owner.signs(kinds.STATE, ["d", identifier], ["refs/heads/main", "0" * 40])]
    for number in range(count):
        writer = Person()
        issue = writer.opens_issue(repo, content=f"issue {number}")
        events += [
            issue,
            writer.signs(COMMENT, ["A", repo], ["K", "30617"], content="on the repository"),
            writer.signs(NOTE, ["q", repo], content="quotes the repository"),
            writer.signs(NOTE, ["e", issue.id], content="replies to the issue"),
            writer.signs(COMMENT, ["E", issue.id], ["K", "1621"], content="comments on the issue"),
            writer.signs(NOTE, ["q", issue.id], content="quotes the issue"),
        ]
    return events


def publish(url: str, events: Iterable[Event]) -> None:
    """Publish events that must all be accepted."""
    with Client(url) as client:
        client.take(*events)


def held(url: str, ids: Iterable[str]) -> set[str]:
    """Which of these events a relay serves."""
    wanted = list(ids)
    with Client(url) as client:
        return {
            found
            for start in range(0, len(wanted), 100)
            for found in client.query({"ids": wanted[start : start + 100]})
        }


def everything(url: str) -> set[str]:
    """The ids of all events of a relay that answers with at most a few hundred: by kind."""
    wanted: dict[str, Any] = {"kinds": [NOTE, COMMENT, *kinds.ROOT_KINDS, kinds.ANNOUNCEMENT, kinds.STATE]}
    with Client(url) as client:
        return set(client.query(wanted))


def eventually(what: Callable[[], object], within_s: float = DEADLINE_S, said: Callable[[], str] = str) -> float:
    """Wait until `what` is true, and say how long that took."""
    start = time.monotonic()
    while True:
        try:
            if what():
                return time.monotonic() - start
        except OSError as error:
            raise AssertionError(f"{error!r}\n{said()}") from error
        if time.monotonic() - start > within_s:
            raise AssertionError(f"still not so after {within_s} s\n{said()}")
        time.sleep(POLL_S)


def arrive(relay: GraspdRelay, events: Iterable[Event], within_s: float = DEADLINE_S) -> float:
    """Wait until our relay serves all of these."""
    ids: set[str] = {event.id for event in events}

    def missing() -> set[str]:
        return ids - held(relay.url, ids)

    return eventually(lambda: not missing(), within_s, lambda: relay.written()[-6000:])


def lines(relay: GraspdRelay, *words: str) -> list[str]:
    """The log lines that hold all of these words."""
    return [line for line in relay.written().splitlines() if all(word in line for word in words)]
