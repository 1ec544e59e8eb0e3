"""The key is made once, kept for us alone, and a broken one is said in one line."""

import stat
from pathlib import Path

import pytest

from graspd.errors import DataDirError
from graspd.nostr.signature import verify
from graspd.peers.identity import FILE_NAME, Identity
from graspd.types import RelayUrl, UnixTime


def test_key_stays(tmp_path: Path) -> None:
    first = Identity.of(tmp_path)

    assert Identity.of(tmp_path).pubkey == first.pubkey
    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


def test_answer_is_signed(tmp_path: Path) -> None:
    event = Identity.of(tmp_path).answer(RelayUrl("wss://a.example"), 'c"\n', UnixTime(5))

    assert event.tags == (("relay", "wss://a.example"), ("challenge", 'c"\n'))
    assert event.created_at == 5
    assert verify(*map(bytes.fromhex, (event.id, event.pubkey, event.sig)))


@pytest.mark.parametrize("text", ["", "zz", "00" * 32, "ff" * 32, "ab" * 31])
def test_broken_key_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE_NAME).write_text(text)

    with pytest.raises(DataDirError, match="is no"):
        Identity.of(tmp_path)


def test_missing_directory_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataDirError, match="cannot be used"):
        Identity.of(tmp_path / "missing")
