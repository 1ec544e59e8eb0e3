"""Every malformed, malleable or odd event gets the verdict that its row says, as a message from a client."""

import pytest

from graspd.nostr.messages import BadEvent, Publish, Unreadable, parse_client_message
from graspd.nostr.signature import record, verify_records
from tests.nostr.malformed import BASE, CASES, Case, Says


def test_the_table_is_as_large_as_it_should_be() -> None:
    refused = [case for case in CASES if case.says is not Says.TAKEN]
    assert len(refused) >= 100
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_verdict(case: Case) -> None:
    message = parse_client_message(b'["EVENT",' + case.event_text + case.after + b"]")
    match case.says:
        case Says.NOTICE:
            assert message == Unreadable(case.text)
        case Says.OK_FALSE:
            assert isinstance(message, BadEvent)
            assert message.text == case.text
            assert message.event_id == BASE.id or f'"{message.event_id}"'.encode() in case.event_text
        case Says.TAKEN | Says.BAD_SIGNATURE:
            assert isinstance(message, Publish)
            event = message.event
            good = verify_records(record(event.id, event.pubkey, event.sig)) == b"\x01"
            assert good is (case.says is Says.TAKEN)
            assert event.id == case.event.id
            assert not good or event == case.event
