"""What tags refer to."""

import pytest

from graspd.nostr.tags import is_indexed, parse_address
from tests.nostr.made import ALICE, author, made

ID = "ab" * 32
OTHER = author("something")


@pytest.mark.parametrize("name", ["a", "z", "A", "Z", "q"])
def test_single_letters_are_searchable(name: str) -> None:
    assert is_indexed(name)


@pytest.mark.parametrize("name", ["", "-", "1", "ab", "é", "ａ", "clone", "#", "ª"])
def test_nothing_else_is(name: str) -> None:
    assert not is_indexed(name)


@pytest.mark.parametrize(
    "value",
    [
        f"30617:{ALICE}:proj",
        f"30617:{ALICE}:",
        f"30617:{ALICE}:with:colons:",
        f"30617:{ALICE}:with spaces and 🚀",
        f"0:{ALICE}:",
        f"65535:{ALICE}:x",
        f"30617:{ALICE}:{'x' * 5000}",
    ],
)
def test_addresses(value: str) -> None:
    assert parse_address(value) == value


@pytest.mark.parametrize(
    "value",
    [
        "",
        ":",
        "::",
        "30617",
        f"30617:{ALICE}",
        f":{ALICE}:x",
        f"030617:{ALICE}:x",
        f"00:{ALICE}:x",
        f"65536:{ALICE}:x",
        f"{'9' * 5000}:{ALICE}:x",
        f"-1:{ALICE}:x",
        f"+1:{ALICE}:x",
        f" 1:{ALICE}:x",
        f"1.0:{ALICE}:x",
        f"٣:{ALICE}:x",
        f"30617:{ALICE.upper()}:x",
        f"30617:{ALICE[:-1]}:x",
        f"30617:{ALICE} :x",
        "30617::x",
        "30617:npub1:x",
    ],
)
def test_what_is_no_address(value: str) -> None:
    assert parse_address(value) is None


def test_references_are_the_ids_and_addresses_of_six_tags() -> None:
    address = f"30617:{ALICE}:proj"
    event = made(
        tags=[
            ["a", address, "wss://relay.example"],
            ["A", f"30617:{OTHER}:root"],
            ["q", f"30618:{ALICE}:quoted"],
            ["q", OTHER],
            ["e", ID, "", "root"],
            ["E", ALICE],
        ]
    )
    ids, addresses = event.references
    assert ids == (OTHER, ID, ALICE)
    assert addresses == (address, f"30617:{OTHER}:root", f"30618:{ALICE}:quoted")


@pytest.mark.parametrize(
    "tag",
    [
        ["e"],
        ["a"],
        ["e", ""],
        ["e", ID.upper()],
        ["e", ID[:-1]],
        ["e", f"30617:{ALICE}:proj"],
        ["a", ID],
        ["a", "30617:x:proj"],
        ["p", ID],
        ["P", ID],
        ["x", ID],
        ["d", f"30617:{ALICE}:proj"],
        ["ea", ID],
        ["r", f"30617:{ALICE}:proj"],
        ["t", "x", ID],
    ],
)
def test_tags_that_refer_to_nothing(tag: list[str]) -> None:
    assert made(tags=[tag]).references == ((), ())
