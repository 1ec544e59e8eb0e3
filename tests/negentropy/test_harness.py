"""The line harness, as the programs it is tested against see it: a child process with pipes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import pytest

from tests.negentropy.model import Item

Child = subprocess.Popen[str]


@contextmanager
def harness(items: list[Item], frame_size_limit: int = 0) -> Iterator[Child]:
    environment = {**os.environ, "FRAMESIZELIMIT": str(frame_size_limit)}
    command = [sys.executable, "-m", "graspd.negentropy"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment) as child:
        try:
            for created_at, id_ in items:
                say(child, f"item,{created_at},{id_.hex()}", flush=False)
            say(child, "seal")
            yield child
        finally:
            child.kill()


def say(child: Child, line: str, *, flush: bool = True) -> None:
    assert child.stdin
    child.stdin.write(line + "\n")
    if flush:
        child.stdin.flush()


def hear(child: Child) -> tuple[str, str]:
    assert child.stdout
    line = child.stdout.readline().strip()
    command, _, argument = line.partition(",")
    return command, argument


def hear_past_ids(asking: Child, ids: dict[str, set[str]]) -> tuple[str, str]:
    command, argument = hear(asking)
    while command in ids:
        assert argument not in ids[command]
        ids[command].add(argument)
        command, argument = hear(asking)
    return command, argument


@pytest.mark.parametrize("limit", [0, 5000])
def test_two_harnesses_find_their_differences(limit: int) -> None:
    random = Random(limit)
    items = [(random.randrange(500), random.randbytes(32)) for _ in range(1_000)]
    ids: dict[str, set[str]] = {"have": set(), "need": set()}
    with harness(items[:950], limit) as asking, harness(items[50:], limit) as answering:
        say(asking, "initiate")
        command, message = hear(asking)
        while command == "msg":
            assert not limit or len(message) // 2 <= limit
            say(answering, f"msg,{message}")
            command, answer = hear(answering)
            assert command == "msg"
            say(asking, f"msg,{answer}")
            command, message = hear_past_ids(asking, ids)
    assert command == "done"
    assert ids["have"] == {id_.hex() for _, id_ in items[:50]}
    assert ids["need"] == {id_.hex() for _, id_ in items[950:]}


def test_a_responder_names_its_version() -> None:
    with harness([]) as answering:
        say(answering, "msg,62aabbccddeeff")
        assert hear(answering) == ("msg", "61")
        say(answering, "msg,6100000200")
        assert hear(answering) == ("msg", "6100000200")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("msg,6180", "truncated"),
        ("msg,zz", "non-hexadecimal"),
        ("seal", "unexpected line"),
        ("item,5,00", "unexpected line"),
        ("nonsense", "unexpected line"),
    ],
)
def test_a_bad_line_ends_it(line: str, complaint: str) -> None:
    with harness([(5, b"i" * 32)]) as child:
        say(child, line)
        assert child.stderr
        assert complaint in child.stderr.readline()
        assert child.wait(timeout=30) == 1
