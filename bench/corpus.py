"""Signed NIP-34 events by seed and size, made once and kept on disk.

Decides what the load looks like: one repository, its patches, pull requests, issues, comments and status events by a
few dozen authors over eight months, each about 700 bytes and each naming the repository, in the order they happened.
The same seed and size give the same bytes on any machine. Must not know which relay will be asked to take them: only
the announcement names a relay, and it is signed afresh for each.
"""

import functools
import hashlib
import os
import random
from bisect import bisect
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import orjson
from coincurve import PrivateKey

from graspd.nostr.nip19 import encode_npub
from graspd.types import PubKey

FORMAT = 1  # part of the cache's file name: raise it when the events made below change
AUTHORS = 32
LABELS = 16
ROOT_KINDS = (1617, 1618, 1621)
REPLY_KINDS = (1111, 1111, 1111, 1630, 1632)
FIRST_CREATED_AT = 1_735_689_600
SPACING_S = 500  # 40,000 events span about eight months
CONTENT_BYTES = {"root": 190, "reply": 60}  # brings either sort to about 700 bytes in all
REPOSITORY = "bench"
TEXT = (
    "the change keeps every commit signed while a relay under load answers slowly and peers retry until history "
    "agrees again so please rebase onto main before this patch lands or the merge will conflict with refs we publish"
)
WORDS = TEXT.split()


@dataclass(frozen=True, slots=True)
class Draft:
    """An event before its signature; `author` is an index into the seed's keys."""

    author: int
    created_at: int
    kind: int
    tags: list[list[str]]
    content: str


def author_key(seed: int, index: int) -> PrivateKey:
    """The key of one author; index 0 owns the repository."""
    return PrivateKey(hashlib.sha256(f"graspd bench author {seed} {index}".encode()).digest())


@functools.cache
def pubkey(seed: int, index: int) -> PubKey:
    """An author's public key as Nostr spells it."""
    return _public_half(author_key(seed, index))


def _public_half(key: PrivateKey) -> PubKey:
    return PubKey(key.public_key.format(compressed=True)[1:].hex())


def label(index: int) -> str:
    """A `t` value; every event carries exactly one of LABELS."""
    return f"label-{index:02d}"


def repository_address(seed: int) -> str:
    """The `a` value that every event of the corpus carries."""
    return f"30617:{pubkey(seed, 0)}:{REPOSITORY}"


def sign(draft: Draft, key: PrivateKey) -> bytes:
    """The event as canonical JSON: `id` comes first, so `event_id` can slice it out."""
    author = _public_half(key)
    body = [0, author, draft.created_at, draft.kind, draft.tags, draft.content]
    digest = hashlib.sha256(orjson.dumps(body)).digest()
    return orjson.dumps(
        {
            "id": digest.hex(),
            "pubkey": author,
            "created_at": draft.created_at,
            "kind": draft.kind,
            "tags": draft.tags,
            "content": draft.content,
            "sig": key.sign_schnorr(digest, aux_randomness=bytes(32)).hex(),
        }
    )


def event_id(event: bytes) -> bytes:
    """The 64 hex digits of an event that `sign` wrote."""
    return event[7:71]


def announcement(seed: int, domain: str) -> bytes:
    """The repository's announcement, naming the relay served at `domain` as its clone URL and its relay."""
    npub = encode_npub(pubkey(seed, 0))
    tags = [
        ["d", REPOSITORY],
        ["name", "A repository for measuring"],
        ["clone", f"http://{domain}/{npub}/{REPOSITORY}.git"],
        ["relays", f"ws://{domain}"],
    ]
    return sign(Draft(0, FIRST_CREATED_AT - 1, 30617, tags, ""), author_key(seed, 0))


def fresh_issues(seed: int, count: int, created_at: int) -> list[bytes]:
    """Issues that are in no cached corpus: each carries the first label and is by the first author."""
    rng, key = random.Random(f"{seed} fresh"), author_key(seed, 0)
    return [sign(_root_draft(rng, seed, 0, created_at + i, 1621, 0), key) for i in range(count)]


def events(seed: int, count: int, cache_dir: Path) -> list[bytes]:
    """`count` signed events, oldest first, read from `cache_dir` or signed in all cores and kept there."""
    path = cache_dir / f"corpus-{FORMAT}-{seed}-{count}.jsonl"
    if not path.exists():
        cache_dir.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
        unfinished.write_bytes(b"\n".join(_sign_all(seed, count)))
        unfinished.rename(path)
    return path.read_bytes().split(b"\n")


def _sign_all(seed: int, count: int) -> list[bytes]:
    # Replies name the ids of roots, so the roots are signed first.
    rng = random.Random(f"{seed} {count}")
    is_root = [i == 0 or rng.random() < 0.5 for i in range(count)]
    root_places = [i for i in range(count) if is_root[i]]
    reply_places = [i for i in range(count) if not is_root[i]]
    times = [FIRST_CREATED_AT + i * SPACING_S + rng.randrange(SPACING_S) for i in range(count)]
    with ProcessPoolExecutor() as pool:
        root_drafts = [
            _root_draft(rng, seed, rng.randrange(AUTHORS), times[i], rng.choice(ROOT_KINDS), rng.randrange(LABELS))
            for i in root_places
        ]
        roots = _sign_drafts(pool, seed, root_drafts)
        reply_drafts = [
            _reply_draft(rng, seed, times[i], roots[rng.randrange(bisect(root_places, i))]) for i in reply_places
        ]
        replies = _sign_drafts(pool, seed, reply_drafts)
    signed_by_place = dict(chain(zip(root_places, roots, strict=True), zip(reply_places, replies, strict=True)))
    return [signed_by_place[i] for i in range(count)]


def _sign_drafts(pool: ProcessPoolExecutor, seed: int, drafts: list[Draft]) -> list[bytes]:
    step = 500
    slices = [drafts[i : i + step] for i in range(0, len(drafts), step)]
    return list(chain.from_iterable(pool.map(_sign_slice, [seed] * len(slices), slices)))


def _sign_slice(seed: int, drafts: list[Draft]) -> list[bytes]:
    keys = {index: author_key(seed, index) for index in {draft.author for draft in drafts}}
    return [sign(draft, keys[draft.author]) for draft in drafts]


def _root_draft(rng: random.Random, seed: int, author: int, created_at: int, kind: int, label_index: int) -> Draft:
    tags = [
        ["a", repository_address(seed)],
        ["p", pubkey(seed, 0)],
        ["t", label(label_index)],
        ["subject", " ".join(_words(rng, 24))],
    ]
    return Draft(author, created_at, kind, tags, " ".join(_words(rng, CONTENT_BYTES["root"])))


def _reply_draft(rng: random.Random, seed: int, created_at: int, root: bytes) -> Draft:
    root_id, root_author = event_id(root).decode(), root[83:147].decode()
    tags = [
        ["a", repository_address(seed)],
        ["e", root_id, "", "root"],
        ["p", root_author],
        ["t", label(rng.randrange(LABELS))],
    ]
    content = " ".join(_words(rng, CONTENT_BYTES["reply"]))
    return Draft(rng.randrange(AUTHORS), created_at, rng.choice(REPLY_KINDS), tags, content)


def _words(rng: random.Random, size: int) -> Iterator[str]:
    written = 0
    while written < size:
        word = rng.choice(WORDS)
        written += len(word) + 1
        yield word
