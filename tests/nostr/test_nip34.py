"""Announcements are read tolerantly; identifiers are not."""

import pytest

from graspd.nostr import kinds
from graspd.nostr.event import Event
from graspd.nostr.nip19 import encode_npub
from graspd.nostr.nip34 import IDENTIFIER_BYTES_MAX, identifier_fault, read_announcement, repo_addr
from graspd.nostr.relay_url import Domain
from tests.nostr.made import ALICE, author, made

BOB, CAROL = author("bob"), author("carol")
NPUB = encode_npub(ALICE)
GRASP = Domain("grasp.example")
OURS = f"https://grasp.example/{NPUB}/proj.git"


def announced(*tags: list[str]) -> Event:
    return made(kinds.ANNOUNCEMENT, ALICE, 1000, [["d", "proj"], *tags])


def test_what_an_announcement_says() -> None:
    event = announced(
        ["clone", OURS, "https://elsewhere.example/proj.git"],
        ["relays", "wss://grasp.example/", "relay.example", "WSS://Relay.Example:443", "not a relay"],
        ["maintainers", BOB, CAROL],
    )
    read = read_announcement(event)
    assert (read.event_id, read.pubkey, read.created_at, read.identifier) == (event.id, ALICE, 1000, "proj")
    assert read.clone_urls == (OURS, "https://elsewhere.example/proj.git")
    assert read.relays == ("wss://grasp.example", "wss://relay.example")
    assert read.maintainers == (BOB, CAROL)
    assert read.address == repo_addr(ALICE, "proj") == f"30617:{ALICE}:proj" == event.address


def test_many_tags_of_one_value_say_the_same_as_one_of_many() -> None:
    several = announced(["clone", "a"], ["clone", "b"], ["relays", "wss://r"], ["relays"], ["maintainers", BOB])
    one = announced(["clone", "a", "b"], ["relays", "wss://r"], ["maintainers", BOB])
    for read in (read_announcement(several), read_announcement(one)):
        assert (read.clone_urls, read.relay_values, read.maintainers) == (("a", "b"), ("wss://r",), (BOB,))


def test_a_bare_announcement_says_nothing() -> None:
    read = read_announcement(made(kinds.ANNOUNCEMENT, ALICE))
    assert (read.identifier, read.clone_urls, read.relays, read.maintainers) == ("", (), (), ())


@pytest.mark.parametrize("value", ["", "bob", BOB.upper(), BOB[:-1], encode_npub(BOB), f" {BOB}", f"{BOB}0"])
def test_a_maintainer_is_a_public_key_in_hex(value: str) -> None:
    assert read_announcement(announced(["maintainers", value, CAROL])).maintainers == (CAROL,)


@pytest.mark.parametrize(
    ("tags", "clone", "relay"),
    [
        ([["clone", OURS], ["relays", "wss://grasp.example"]], True, True),
        ([["clone", "https://elsewhere.example/x.git", OURS], ["relays", "wss://r", "ws://grasp.example"]], True, True),
        ([["clone", OURS]], True, False),
        ([["relays", "wss://grasp.example"]], False, True),
        ([["web", OURS], ["relay", "wss://grasp.example"]], False, False),
        ([["clone", OURS.replace("proj", "other")], ["relays", "wss://grasp.example.evil.org"]], False, False),
        ([["clone", OURS.replace(NPUB, encode_npub(BOB))], ["relays", "wss://grasp.example"]], False, True),
    ],
)
def test_whether_it_lists_us(tags: list[list[str]], clone: bool, relay: bool) -> None:
    read = read_announcement(announced(*tags))
    assert (read.lists_clone(GRASP), read.lists_relay(GRASP)) == (clone, relay)


@pytest.mark.parametrize(
    "identifier",
    ["proj", "my proj", "🚀", "a.b", "...", ".hidden", "a-", "a--b", "日本語", "%2e", "a:b", " ", "x" * 250, "é" * 125],
)
def test_identifiers_that_are_fine(identifier: str) -> None:
    assert identifier_fault(identifier) is None


@pytest.mark.parametrize(
    ("identifier", "why"),
    [
        ("", "the d tag (the repository's identifier) is missing or empty"),
        (".", "the identifier is . or .."),
        ("..", "the identifier is . or .."),
        ("-", "the identifier starts with -"),
        ("--upload-pack=x", "the identifier starts with -"),
        ("a/b", "the identifier has a slash, a backslash or a NUL"),
        ("../a", "the identifier has a slash, a backslash or a NUL"),
        ("a\\b", "the identifier has a slash, a backslash or a NUL"),
        ("a\0", "the identifier has a slash, a backslash or a NUL"),
        ("x" * 251, f"the identifier is longer than {IDENTIFIER_BYTES_MAX} bytes"),
        ("é" * 126, f"the identifier is longer than {IDENTIFIER_BYTES_MAX} bytes"),
    ],
)
def test_identifiers_that_are_refused(identifier: str, why: str) -> None:
    assert identifier_fault(identifier) == why
