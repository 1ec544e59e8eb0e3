"""The parts joined: what happens to all when one of them fails."""

import asyncio
from pathlib import Path

import pytest

from graspd.app import ingesting
from graspd.server.ingest import Ingest
from graspd.settings import Settings


async def test_a_fault_in_the_way_in_ends_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(_: Ingest) -> None:
        raise ZeroDivisionError

    async def serve() -> None:
        async with ingesting(Settings(data_dir=tmp_path)) as (_, ingest, _):
            await ingest.room()
            await asyncio.Event().wait()

    monkeypatch.setattr(Ingest, "run", broken)
    with pytest.raises(ZeroDivisionError):
        await serve()
