"""Lists of repositories as an operator writes them."""

import pytest

from graspd.errors import SettingError
from graspd.nostr.nip19 import encode_npub
from graspd.rules.policy import RepoList
from graspd.types import PubKey
from tests.rules.world import ALICE, BOB

NPUB = encode_npub(ALICE)
Repositories = list[tuple[PubKey, str]]


@pytest.mark.parametrize(
    ("entries", "listed", "unlisted"),
    [
        ([], [], [(ALICE, "x"), (BOB, "x")]),
        ([NPUB], [(ALICE, "x"), (ALICE, "y")], [(BOB, "x")]),
        ([f"{NPUB}/"], [(ALICE, "x")], [(BOB, "x")]),
        ([f"{NPUB}/x"], [(ALICE, "x")], [(ALICE, "y"), (BOB, "x")]),
        ([f"{NPUB}/my proj 🚀"], [(ALICE, "my proj 🚀")], [(ALICE, "my proj")]),
        (["x"], [(ALICE, "x"), (BOB, "x")], [(ALICE, "y"), (ALICE, "X")]),
        (["my proj"], [(BOB, "my proj")], [(BOB, "my")]),
        (["*"], [(ALICE, "x"), (BOB, "*")], []),
        ([f"{NPUB}/*"], [(ALICE, "*")], [(ALICE, "x")]),
        (["x", f"{encode_npub(BOB)}/y", NPUB], [(BOB, "x"), (BOB, "y"), (ALICE, "z")], [(BOB, "z")]),
    ],
)
def test_entries(entries: list[str], listed: Repositories, unlisted: Repositories) -> None:
    repositories = RepoList.parse(entries)
    assert all(one in repositories for one in listed)
    assert not any(one in repositories for one in unlisted)
    assert bool(repositories) is bool(entries)


@pytest.mark.parametrize(
    "entry", ["npub1", NPUB[:-1], NPUB.replace("npub1", "npub1q"), f"{ALICE}/x", "a/b", "/x", "npub1x/y"]
)
def test_an_entry_that_means_nothing_is_named(entry: str) -> None:
    with pytest.raises(SettingError) as raised:
        RepoList.parse(["x", entry])
    assert str(raised.value) == f"{entry!r} does not start with a valid npub"
