"""`graspd import`"""

import asyncio
import os
import stat
import sys
from collections import Counter
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Annotated, BinaryIO, Final

import orjson
import typer
from rich.console import Console
from rich.progress import Progress

from graspd.cli.options import Config, DataDir, Domain, loaded, start_logging
from graspd.errors import DataDirError
from graspd.nostr.event import Event, Malformed, has_repeated_key, parse_event
from graspd.rules.verdict import Verdict
from graspd.server.ingest import Ingest
from graspd.settings import Settings

SOURCE: Final = "import"
_SHOWN_MAX: Final = 20
_LINE_BYTES_MAX: Final = 16 * 1024 * 1024  # of a pipe; no relay takes an event as large


def import_(
    file: Annotated[
        Path | None, typer.Argument(help="JSONL file, one event a line; standard input if missing.")
    ] = None,
    domain: Domain = None,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Take events from JSONL: each is verified and judged by the rules, like any other.

    It can be stopped at any time and run again: what is there already is passed over. What is refused only because
    something it needs comes later in the file is tried again.
    """
    settings, _ = loaded(config, domain=domain, data_dir=data_dir)
    start_logging(settings.log_level)
    try:
        given = sys.stdin.buffer if file is None else file.open("rb")
    except OSError as error:
        raise DataDirError(f"{file} cannot be read: {error.strerror}") from error
    with given:
        print(asyncio.run(_Import(settings).run(given)))


async def _lines(given: BinaryIO) -> AsyncIterator[bytes]:
    """The lines of a file, or of a pipe as they come: its writer may stall, and an interrupt must end us even then."""
    if stat.S_ISREG(os.fstat(given.fileno()).st_mode):
        for line in given:
            yield line
        return
    reader = asyncio.StreamReader(limit=_LINE_BYTES_MAX)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), given)
    try:
        while line := await reader.readline():
            yield line
    except ValueError as error:
        raise DataDirError(
            f"standard input has a line of more than {_LINE_BYTES_MAX} bytes, which is no event"
        ) from error


class _Import:
    """One run: counts what was taken, and remembers what may be taken later. Of the rest it keeps nothing in memory."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._counts: Counter[str] = Counter()
        self._refused: list[tuple[int, Event, Verdict]] = []
        self._broken: list[tuple[int, str]] = []

    async def run(self, given: BinaryIO) -> str:
        from graspd.app import ingesting

        async with ingesting(self._settings) as (_, ingest, _):
            size = os.fstat(given.fileno()).st_size or None
            with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
                task = progress.add_task("importing", total=size)
                number = 0
                async for line in _lines(given):
                    number += 1
                    event = self._parsed(number, line)
                    if event is not None:
                        await self._submit(ingest, number, event)
                    progress.advance(task, len(line))
                await ingest.drained()
                await self._try_again(ingest)
        return self._report()

    async def _try_again(self, ingest: Ingest) -> None:
        """What was refused may wait for something that came later; a pass that takes nothing is the last."""
        while again := [entry for entry in self._refused if entry[2].reason.may_change]:
            taken = self._counts["stored"]
            self._refused = [entry for entry in self._refused if not entry[2].reason.may_change]
            for number, event, _ in again:
                await self._submit(ingest, number, event)
            await ingest.drained()
            if self._counts["stored"] == taken:
                break

    def _parsed(self, number: int, line: bytes) -> Event | None:
        if not line.strip():
            return None
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError:
            self._broken.append((number, "not valid JSON"))
            return None
        event = parse_event(value)
        if isinstance(event, Malformed):
            self._broken.append((number, event.why))
            return None
        if has_repeated_key(line, value):
            self._broken.append((number, "a field is spelled twice"))
            return None
        return event

    async def _submit(self, ingest: Ingest, number: int, event: Event) -> None:
        # NIP-70 guards against strangers who publish; what an operator restores counts as brought by its author.
        ingest.submit(event, partial(self._answered, number, event), SOURCE, frozenset({event.pubkey}))
        await ingest.room()

    def _answered(self, number: int, event: Event, verdict: Verdict) -> None:
        if verdict.accepted:
            self._counts[verdict.reason.label] += 1
        else:
            self._refused.append((number, event, verdict))

    def _report(self) -> str:
        lines = [f"{label}: {count}" for label, count in sorted(self._counts.items())]
        refused = sorted([(number, verdict.text) for number, _, verdict in self._refused] + self._broken)
        lines.append(f"refused: {len(refused)}")
        lines += [f"  line {number}: {why}" for number, why in refused[:_SHOWN_MAX]]
        if len(refused) > _SHOWN_MAX:
            reasons = Counter(why for _, why in refused)
            lines += [f"  {count} x {why}" for why, count in reasons.most_common()]
        return "\n".join(lines)
