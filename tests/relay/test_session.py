"""What each message leads to: effects, and nothing else."""

import orjson
import pytest

from graspd.nostr.filter import Filter
from graspd.nostr.relay_url import Domain
from graspd.relay.effects import (
    CheckAuth,
    CloseNegotiation,
    ContinueNegotiation,
    CountStored,
    Effect,
    OpenNegotiation,
    Send,
    Submit,
    Subscribe,
    Unsubscribe,
)
from graspd.relay.limits import RelayLimits
from graspd.relay.session import Session
from graspd.types import SubId, UnixTime
from tests.nostr.made import made

NOW = UnixTime(1_700_000_000)
X = SubId("x")
NEG = RelayLimits(neg_sessions_max=1)


@pytest.fixture
def session() -> Session:
    return Session(RelayLimits(subscriptions_max=2, auth_attempts_max=2), Domain("relay.example"), "challenge")


def receive(session: Session, *message: object) -> list[Effect]:
    return session.receive(orjson.dumps(message), NOW)


def said(effects: list[Effect]) -> list[list[object]]:
    return [orjson.loads(effect.payload) for effect in effects if isinstance(effect, Send)]


def test_an_event_is_submitted(session: Session) -> None:
    event = made()

    assert session.receive(b'["EVENT",' + event.raw + b"]", NOW) == [Submit(event)]


def test_a_request_subscribes_and_close_ends_it(session: Session) -> None:
    assert receive(session, "REQ", "x", {"kinds": [1]}) == [Subscribe(X, (Filter(kinds=(1,)),))]
    assert session.is_listening
    assert receive(session, "CLOSE", "x") == [Unsubscribe(X)]
    assert not session.is_listening


def test_a_refused_request_ends_what_its_name_stood_for(session: Session) -> None:
    receive(session, "REQ", "x", {})

    unsubscribed, told = receive(session, "REQ", "x", {"limit": -1})

    assert unsubscribed == Unsubscribe(X)
    assert said([told])[0][:2] == ["CLOSED", "x"]
    assert not session.is_listening


def test_a_subscription_that_we_ended_frees_its_place(session: Session) -> None:
    for name in ("a", "b"):
        receive(session, "REQ", name, {})
    assert said(receive(session, "REQ", "c", {}))[0][0] == "CLOSED"

    session.ended(SubId("a"))

    assert receive(session, "REQ", "c", {}) == [Subscribe(SubId("c"), (Filter(),))]


def test_a_count_takes_no_place(session: Session) -> None:
    for _ in range(5):
        assert receive(session, "COUNT", "x", {}) == [CountStored(X, (Filter(),))]
    assert not session.is_listening


def test_a_session_is_opened_continued_and_closed(session: Session) -> None:
    assert receive(session, "NEG-OPEN", "x", {}, "61") == [OpenNegotiation(X, Filter(), b"\x61")]
    assert session.is_listening
    assert receive(session, "NEG-MSG", "x", "6162") == [ContinueNegotiation(X, b"\x61\x62")]
    assert receive(session, "NEG-CLOSE", "x") == [CloseNegotiation(X)]
    assert said(receive(session, "NEG-MSG", "x", "61"))[0][:2] == ["NEG-ERR", "x"]


def test_a_refused_session_ends_the_one_of_its_name() -> None:
    session = Session(NEG, Domain("relay.example"), "challenge")
    receive(session, "NEG-OPEN", "x", {}, "61")

    closed, _ = receive(session, "NEG-OPEN", "x", {"limit": 1}, "61")

    assert closed == CloseNegotiation(X)
    assert not session.is_listening


def test_a_challenge_is_sent_once(session: Session) -> None:
    assert said(session.challenge()) == [["AUTH", "challenge"]]
    assert session.challenge() == []


def test_an_answer_is_checked_only_where_all_else_is_right(session: Session) -> None:
    tags = [["relay", "wss://relay.example"], ["challenge", "challenge"]]
    answer = made(22_242, at=NOW, tags=tags)
    message = b'["AUTH",' + answer.raw + b"]"
    assert said(session.receive(message, NOW))[0][2] is False, "nobody asked"

    session.challenge()

    assert session.receive(message, NOW) == [CheckAuth(answer)]
    assert session.pubkeys == frozenset(), "not before its signature is checked"
    assert said(session.authenticated(answer, genuine=False))[0][2] is False
    assert session.pubkeys == frozenset()
    assert said(session.authenticated(answer, genuine=True))[0][2] is True
    assert session.pubkeys == {answer.pubkey}
    assert str(said(session.receive(message, NOW))[0][3]).startswith("rate-limited: ")


def test_what_cannot_be_read_gets_a_notice_and_changes_nothing(session: Session) -> None:
    receive(session, "REQ", "x", {})

    assert [message[0] for message in said(session.receive(b"{", NOW))] == ["NOTICE"]
    assert session.is_listening
