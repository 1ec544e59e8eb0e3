"""Verdicts as a machine and a person read them."""

import pytest

from graspd.nostr.prefix import Prefix
from graspd.rules.verdict import BAD_SIGNATURE, KNOWN, RELAYED, STORED, Reason, Verdict


def test_every_reason_has_a_label_of_its_own() -> None:
    labels = [reason.label for reason in Reason]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("reason", [reason for reason in Reason if not reason.accepts], ids=lambda reason: reason.label)
def test_a_refusal_starts_with_a_word_for_machines(reason: Reason) -> None:
    # NIP-01: OK false always carries a prefix. "duplicate" means that we have it, which is no refusal.
    assert reason.prefix not in (None, Prefix.DUPLICATE)
    assert Verdict(reason, "because").text == f"{reason.prefix}: because"
    assert not Verdict(reason).accepted


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason.accepts], ids=lambda reason: reason.label)
def test_an_acceptance_is_final(reason: Reason) -> None:
    assert reason.prefix in (None, Prefix.DUPLICATE)
    assert not reason.may_change


def test_what_is_told() -> None:
    assert (STORED.text, RELAYED.text) == ("", "")
    assert KNOWN.text == "duplicate: already have this event"
    assert BAD_SIGNATURE.text == "invalid: the signature does not fit the event"
