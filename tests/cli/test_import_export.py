"""`graspd import` and `graspd export`: JSONL, one event a line, as strfry writes and reads it."""

import os
import pty
import signal
import subprocess
from pathlib import Path

import orjson
import pytest

from graspd.nostr.event import Event
from graspd.store.sqlite.connection import FILE_NAME
from graspd.store.sqlite.store import export
from tests.cli.command import DEADLINE_S, Ended, clean_environment, command_line, graspd
from tests.conformance.client import Client, wait_until
from tests.conformance.people import Person
from tests.peers.graspd_relay import GraspdRelay

DOMAIN = "relay.example"


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


def history(count: int) -> list[Event]:
    """A repository, and so many issues about it."""
    owner, guest = Person(), Person()
    issues = [guest.opens_issue(owner.repo, content=str(number)) for number in range(count)]
    return [owner.announces(DOMAIN), *issues]


def jsonl(events: list[Event]) -> bytes:
    return b"".join(event.raw + b"\n" for event in events)


def imported(data_dir: Path, text: bytes, *arguments: object) -> Ended:
    return graspd("import", "--data-dir", data_dir, *arguments, settings={"GRASPD_DOMAIN": DOMAIN}, stdin=text)


def exported(data_dir: Path) -> list[str]:
    ended = graspd("export", "--data-dir", data_dir)
    assert (ended.code, ended.err) == (0, "")
    return ended.out.splitlines()


def test_what_is_imported_is_exported_oldest_first(data_dir: Path) -> None:
    events = history(5)

    ended = imported(data_dir, jsonl(events))

    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == ["stored: 6", "refused: 0"]
    ordered = sorted(events, key=lambda event: (event.created_at, event.id))
    assert exported(data_dir) == [event.raw.decode() for event in ordered]


def test_protected_events_survive_a_restore(data_dir: Path) -> None:
    owner = Person()
    protected = owner.signs(1621, ["a", owner.repo], ["-"])

    ended = imported(data_dir, jsonl([owner.announces(DOMAIN), protected]))

    assert ended.out.splitlines() == ["stored: 2", "refused: 0"]


def test_a_file_is_read_as_standard_input_is(data_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_bytes(jsonl(history(2)))

    ended = imported(data_dir, b"", tmp_path / "events.jsonl")

    assert ended.out.splitlines() == ["stored: 3", "refused: 0"]


def test_other_spellings_and_line_ends_are_fine(data_dir: Path) -> None:
    events = history(3)
    spelled = [orjson.dumps(orjson.loads(event.raw), option=orjson.OPT_SORT_KEYS) for event in events]

    ended = imported(data_dir, b"\r\n".join([spelled[0], b"", *spelled[1:], b"  "]))

    assert ended.out.splitlines() == ["stored: 4", "refused: 0"]
    assert sorted(exported(data_dir)) == sorted(event.raw.decode() for event in events)


def test_what_is_refused_is_told_with_its_line_and_reason(data_dir: Path) -> None:
    events = history(4)
    raw = [event.raw for event in events]
    forged = raw[1].replace(events[1].sig.encode(), b"0" * 128)
    tampered = raw[2].replace(b'"kind":1621', b'"kind":1617')
    unrelated = Person().signs(1).raw
    twice = raw[4].replace(b'{"id"', b'{"kind":1621,"id"')
    lines = [raw[0], forged, tampered, b"{", b"[]", unrelated, twice, raw[3]]

    ended = imported(data_dir, b"\n".join(lines))

    assert ended.code == 0
    counts, refused = ended.out.splitlines()[:2], ended.out.splitlines()[2:]
    assert counts == ["stored: 2", "refused: 6"]
    told = [line.strip().partition(": ") for line in refused]
    assert [number for number, _, _ in told] == [f"line {number}" for number in (2, 3, 4, 5, 6, 7)]
    words = ["signature", "hash", "JSON", "not an object", "restricted", "twice"]
    assert all(word in reason for word, (_, _, reason) in zip(words, told, strict=True)), refused


def test_many_refusals_are_summed_up(data_dir: Path) -> None:
    ended = imported(data_dir, b"{\n" * 50)

    assert ended.out.splitlines()[0] == "refused: 50"
    assert "  50 x not valid JSON" in ended.out.splitlines()
    assert len(ended.out.splitlines()) < 30


def test_what_comes_before_what_it_needs_is_tried_again(data_dir: Path) -> None:
    events = history(20)
    reply = Person().signs(1111, ["E", events[7].id])

    ended = imported(data_dir, jsonl([reply, *reversed(events)]))

    assert ended.out.splitlines() == ["stored: 22", "refused: 0"]


def stored_count(data_dir: Path) -> int:
    return sum(1 for _ in export(data_dir / FILE_NAME))


def test_it_can_be_stopped_and_run_again(data_dir: Path, tmp_path: Path) -> None:
    events = history(3000)
    (tmp_path / "events.jsonl").write_bytes(jsonl(events))
    with subprocess.Popen(
        command_line("import", "--data-dir", data_dir),
        env=clean_environment({"GRASPD_DOMAIN": DOMAIN}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdin is not None
        running.stdin.write(jsonl(events[:2000]))  # and no more, so that it cannot be done before it is stopped
        running.stdin.flush()
        log = data_dir / f"{FILE_NAME}-wal"
        # The schema alone takes less: from here on, events have been committed.
        wait_until(lambda: log.exists() and log.stat().st_size > 500_000)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=DEADLINE_S)
    before = stored_count(data_dir)
    assert 0 < before < len(events)

    ended = imported(data_dir, b"", tmp_path / "events.jsonl")

    assert running.returncode != 0
    assert b"Traceback" not in err
    assert ended.out.splitlines() == [f"known: {before}", f"stored: {len(events) - before}", "refused: 0"]


def test_a_bar_is_shown_on_a_terminal_and_only_there(data_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_bytes(jsonl(history(10)))
    leader, follower = pty.openpty()
    done = subprocess.run(
        command_line("import", tmp_path / "events.jsonl", "--data-dir", data_dir),
        env=clean_environment({"GRASPD_DOMAIN": DOMAIN, "TERM": "xterm"}),
        stdout=subprocess.PIPE,
        stderr=follower,
        timeout=DEADLINE_S,
        check=True,
    )
    os.close(follower)
    shown = os.read(leader, 1 << 16).decode()
    os.close(leader)

    assert "importing" in shown
    assert "100%" in shown
    assert done.stdout.decode().splitlines() == ["stored: 11", "refused: 0"]
    assert imported(data_dir, jsonl(history(1))).err == ""


def test_a_running_server_may_be_exported() -> None:
    owner = Person()
    with GraspdRelay() as relay, Client(relay.url) as client:
        announcement = owner.announces(relay.domain)
        client.take(announcement)

        assert exported(relay.data_dir / "data") == [announcement.raw.decode()]


def test_a_reader_may_leave_an_export_early(data_dir: Path) -> None:
    imported(data_dir, jsonl(history(3000)))
    running = subprocess.Popen(
        command_line("export", "--data-dir", data_dir),
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert running.stdout is not None
    assert running.stderr is not None
    running.stdout.readline()
    running.stdout.close()
    err = running.stderr.read()
    running.stderr.close()
    running.wait(DEADLINE_S)

    assert err == b""


def test_an_import_serves_a_relay_afterwards(tmp_path: Path) -> None:
    owner, guest = Person(), Person()
    with GraspdRelay() as relay:
        announcement, issue = owner.announces(relay.domain), guest.opens_issue(owner.repo)
        relay.stop()
        data_dir = relay.data_dir / "data"
        ended = graspd(
            "import", "--data-dir", data_dir, "--domain", relay.domain, stdin=jsonl([issue, announcement]), cwd=tmp_path
        )
        assert ended.out.splitlines() == ["stored: 2", "refused: 0"]
        relay.restart()
        with Client(relay.url) as client:
            assert client.query({"kinds": [1621]}) == [issue.id]
