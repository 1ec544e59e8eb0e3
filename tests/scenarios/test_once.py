"""Each missing event crosses the wire once."""

from graspd.nostr import kinds
from sim.checkers.once import RATIO_MAX, Once
from sim.content import COMMENT, author, make
from sim.scenario import Scenario

EVENTS = 10_000


def test_five_peers_with_the_same_ten_thousand_events() -> None:
    s = Scenario()
    once = Once(s.own)
    s.own.watchers.append(once)
    peers = [s.peer(f"peer-{number}") for number in range(5)]
    repo = s.repository(*peers)
    roots = [
        make(kinds.ISSUE, author("reporter"), s.second(100_000 - number), [["a", repo.addr]], f"issue {number}")
        for number in range(50)
    ]
    replies = [
        make(
            COMMENT,
            author("replier"),
            s.second(90_000 - number),
            [["E", roots[number % 50].id], ["A", repo.addr]],
            "re",
        )
        for number in range(EVENTS - 50)
    ]
    for event in (*roots, *replies):
        s.hold(event, peers)
    s.start()
    s.expect(*roots, *replies, within_s=1800)
    s.wait(120)
    assert once.events == EVENTS
    assert once.received <= RATIO_MAX * once.size
