"""What is wanted: both directions, deltas, shrinking, caps; and the same as a naive model under random feeds."""

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from graspd.nostr.event import Event
from graspd.sync.interest import Interest
from graspd.sync.limits import SyncLimits
from graspd.types import EventId, RelayUrl, RepoAddr
from tests.nostr.made import author
from tests.rules.world import ALICE, BOB, HOST, POLICY, issue, repo
from tests.sync.made import ONE, THREE, TWO, announced

PROJ = RepoAddr(repo())


def fed(*events: Event, limits: SyncLimits | None = None) -> Interest:
    interest = Interest(POLICY, limits or SyncLimits())
    for event in events:
        interest.put(event)
    return interest


def wanted(interest: Interest) -> dict[str, tuple[str, ...]]:
    return {one.addr: one.peers for one in interest.wanted_repos()}


def test_both_directions() -> None:
    interest = fed(announced([ONE, TWO]), issue())
    assert wanted(interest) == {PROJ: (ONE, TWO)}
    assert [*interest.peers()] == [ONE, TWO]
    number = interest.wanted_repos()[0].number
    assert interest.repos_of(ONE) == {number: None}
    assert interest.wanted_repos()[0].root_count == 1


def test_our_own_relay_is_no_peer_however_it_is_spelled() -> None:
    interest = fed(announced([f"wss://{HOST}/", f"wss://{HOST}:443", f"wss://not-{HOST}"]))
    assert wanted(interest) == {PROJ: (RelayUrl(f"wss://not-{HOST}"),)}


def test_a_root_before_its_announcement_counts() -> None:
    interest = fed(issue(), announced([ONE]))
    assert interest.wanted_repos()[0].root_count == 1


def test_a_root_of_two_repositories_counts_for_both() -> None:
    both = issue(at=5)
    both = both._replace(tags=(("a", repo(ALICE, "x")), ("a", repo(BOB, "y"))))
    interest = fed(announced([ONE], "x"), announced([TWO], "y", by=BOB), both)
    assert [one.root_count for one in interest.wanted_repos()] == [1, 1]


def test_changes_name_only_what_changed() -> None:
    interest = fed(announced([ONE, TWO]), announced([TWO, THREE], "other"))
    interest.take_changes()
    interest.put(issue())
    number = interest.find_repo(PROJ).number  # type: ignore[union-attr]
    assert interest.take_changes() == {ONE: {number: None}, TWO: {number: None}}
    assert not interest.has_changes


@pytest.mark.parametrize("newer_first", [False, True])
def test_a_replaced_announcement_drops_a_relay(newer_first: bool) -> None:
    old, new = announced([ONE, TWO]), announced([TWO], at=2000)
    interest = fed(*((new, old) if newer_first else (old, new)))
    assert wanted(interest) == {PROJ: (TWO,)}
    assert [*interest.peers()] == [TWO]


def test_a_deleted_announcement_is_not_wanted() -> None:
    event = announced([ONE])
    interest = fed(event, issue())
    interest.erase(event.id)
    assert wanted(interest) == {}
    assert [*interest.peers()] == []


def test_a_deleted_root_is_gone_and_keeps_the_order_of_the_others() -> None:
    roots = [issue(at=at) for at in (1, 2, 3)]
    interest = fed(announced([ONE]), *roots)
    interest.erase(roots[1].id)
    held = interest.wanted_repos()[0]
    assert (held.root_count, len(held)) == (2, 4)
    assert interest.roots.find(roots[1].id) is None
    assert interest.roots.find(roots[2].id) == 2


def test_what_a_second_reading_does_not_find_is_gone() -> None:
    kept, lost, roots = announced([ONE]), announced([TWO], "lost"), [issue(at=1), issue(at=2)]
    interest = fed(kept, lost, *roots)
    interest.begin_reading()
    for event in (kept, roots[0]):
        interest.put(event)
    live = issue(at=3)
    interest.put(live)
    interest.end_reading()
    assert wanted(interest) == {PROJ: (ONE,)}
    assert interest.roots.find(roots[1].id) is None
    assert interest.roots.find(live.id) is not None


def test_caps() -> None:
    limits = SyncLimits(relays_per_announcement=2, relays_per_author=3, roots_per_repository=2)
    relays = [f"wss://r{number}.example" for number in range(5)]
    interest = fed(
        announced(relays, "a"),
        announced([*relays[:1], *relays[3:]], "b"),
        *(issue(at=at, about=repo(ALICE, "a")) for at in range(4)),
        limits=limits,
    )
    assert wanted(interest) == {
        repo(ALICE, "a"): (relays[0], relays[1]),
        repo(ALICE, "b"): (relays[0], relays[3]),
    }
    assert interest.wanted_repos()[0].root_count == 2
    assert {finding.what for finding in interest.take_findings()} >= {
        "relays of one announcement",
        "root events of one repository",
    }


def test_a_share_is_given_back() -> None:
    limits = SyncLimits(relays_per_author=1)
    first = announced([ONE], "a")
    interest = fed(first, announced([TWO], "b"), limits=limits)
    assert wanted(interest) == {repo(ALICE, "a"): (ONE,), repo(ALICE, "b"): ()}
    interest.erase(first.id)
    interest.put(announced([TWO], "b", at=2000))
    assert wanted(interest) == {repo(ALICE, "b"): (TWO,)}


def test_a_mirror_is_wanted_for_everything() -> None:
    mirror = RelayUrl(f"wss://{HOST}")
    interest = Interest(POLICY, SyncLimits(), mirrors=(mirror,))
    interest.put(announced([ONE]))
    assert wanted(interest) == {PROJ: (ONE, mirror)}


# Against a naive model: the newest announcement of each author and identifier, the roots that were not erased.

AUTHORS = [author(name) for name in "ab"]
ANNOUNCEMENTS = [
    announced(relays, identifier, at, by)
    for by in AUTHORS
    for identifier in ("x", "y")
    for at in (1, 2)
    for relays in ([ONE], [TWO, THREE])
]
ROOTS = [issue(at=at, about=repo(by, identifier)) for by in AUTHORS for identifier in ("x", "y") for at in (1, 2)]
HAPPENING = st.tuples(st.booleans(), st.sampled_from([*ANNOUNCEMENTS, *ROOTS]))


@settings(max_examples=200, deadline=None)
@given(st.lists(HAPPENING, max_size=40))
def test_interest_agrees_with_a_naive_model(happenings: list[tuple[bool, Event]]) -> None:
    interest = Interest(POLICY, SyncLimits())
    model: dict[str, Event] = {}
    roots: dict[EventId, Event] = {}
    changed_by_peer: dict[RelayUrl, set[int]] = {}
    for put, event in happenings:
        if event.address is None:
            roots.update({event.id: event}) if put else roots.pop(event.id, None)
        else:
            held = model.get(event.address)
            if put and (held is None or event.replaces(held.created_at, held.id)):
                model[event.address] = event
            elif not put and held is not None and held.id == event.id:
                del model[event.address]
        interest.put(event) if put else interest.erase(event.id)
        for peer, numbers in interest.take_changes().items():
            changed_by_peer.setdefault(peer, set()).update(numbers)
    expected = {address: tuple(RelayUrl(url) for url in event.tags[2][2:]) for address, event in model.items()}
    assert wanted(interest) == expected
    for one in interest.wanted_repos():
        of_repo = {root.id for root in roots.values() if root.tags[0][1] == one.addr}
        there = {interest.roots.id(number) for number in one.roots if number >= 0}
        assert {key.hex() for key in there if key is not None} == of_repo
        for peer in one.peers:
            assert one.number in interest.repos_of(peer)
            assert one.number in changed_by_peer[peer]
