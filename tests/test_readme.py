"""The README's first session, as it stands there, against `graspd serve`."""

import re
import subprocess
import sys
from pathlib import Path

from tests.peers.graspd_relay import GraspdRelay

ROOT = Path(__file__).parent.parent
_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
_LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


def test_the_first_session_runs(tmp_path: Path) -> None:
    (session,) = _BLOCK.findall((ROOT / "README.md").read_text())
    script = tmp_path / "session.py"
    with GraspdRelay() as relay:
        script.write_text(session.replace("ws://127.0.0.1:7334", relay.url.rstrip("/")))
        done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == ["kind 30617 accepted", "kind 1621 accepted"]
    assert len(lines) == 4, done.stdout


def test_every_link_of_the_documents_leads_somewhere() -> None:
    for document in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")):
        for target in _LINK.findall(document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}, which is not there"
