"""Answers of 500 events a second, asked by kind, by author and by tag by 8 clients.

Both relays hold the same 40,000 events. A client asks one question at a time: REQ, 500 events, EOSE, CLOSE and the
next; the kind, author or label asked for changes from question to question.
"""

from bench import contest, corpus
from bench.load import Asking, ask, publish
from tests.peers.process import RelayProcess

ANSWER_EVENTS = 500
KINDS = (1617, 1618, 1621, 1111)
FIGURES = (
    contest.Figure("by kind", "answers/s", goal=1.5),
    contest.Figure("by author", "answers/s", goal=1.5),
    contest.Figure("by tag", "answers/s", goal=1.5),
    contest.Figure("all three", "answers/s", goal=1.5),
)


def filters_by_figure(seed: int) -> dict[str, list[dict[str, object]]]:
    """What is asked for each figure; the last mixes the three in equal parts."""
    by_kind: list[dict[str, object]] = [{"kinds": [kind], "limit": ANSWER_EVENTS} for kind in KINDS * 4]
    by_author: list[dict[str, object]] = [
        {"authors": [corpus.pubkey(seed, index)], "limit": ANSWER_EVENTS} for index in range(corpus.LABELS)
    ]
    by_tag: list[dict[str, object]] = [
        {"#t": [corpus.label(index)], "limit": ANSWER_EVENTS} for index in range(corpus.LABELS)
    ]
    mixed = [question for three in zip(by_kind, by_author, by_tag, strict=True) for question in three]
    return {"by kind": by_kind, "by author": by_author, "by tag": by_tag, "all three": mixed}


def main(argv: list[str]) -> int:
    """Run the contest."""
    parser = contest.options(__doc__, events=40_000, rounds=3)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--duration", type=float, default=3.0, help="seconds of asking per figure")
    given = parser.parse_args(argv)
    events = corpus.events(given.seed, given.events, given.cache_dir)
    questions = filters_by_figure(given.seed)

    def measure(relay: RelayProcess) -> dict[str, float]:
        publish(relay.url, [corpus.announcement(given.seed, relay.domain)], connections=1, in_flight=1)
        publish(relay.url, events, connections=8, in_flight=100)
        rates: dict[str, float] = {}
        for figure, filters in questions.items():
            # Each client starts elsewhere in the list, so that they do not all ask the same at once.
            clients = [Asking(filters[i:] + filters[:i], ANSWER_EVENTS) for i in range(given.clients)]
            answers, seconds = ask(relay.url, clients, duration_s=given.duration)
            rates[figure] = answers / seconds
        return rates

    title = f"query: {given.events} events stored, {given.clients} clients, {ANSWER_EVENTS} events an answer"
    return contest.run(title, FIGURES, measure, given)
