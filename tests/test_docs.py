"""What operators read says what is there: every setting and every command."""

import re
from pathlib import Path

import pytest

from graspd.cli import app
from graspd.cli.settings import page
from graspd.settings import Settings

DOCS = Path(__file__).parents[1] / "docs"
COMMANDS = sorted(str(command.name) for command in app.registered_commands)


def test_the_page_of_settings_is_what_the_command_writes() -> None:
    assert (DOCS / "settings.md").read_text() == f"{page()}\n", "write it anew: graspd settings --markdown"


def test_every_setting_is_on_the_page_once_and_says_what_it_is() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .+ \| (.+) \|$", (DOCS / "settings.md").read_text(), re.MULTILINE)

    assert sorted(name for name, _ in rows) == sorted(Settings.model_fields)
    assert all(help_text.strip() for _, help_text in rows)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_documented(command: str) -> None:
    assert f"`graspd {command}" in (DOCS / "operating.md").read_text()


def test_no_command_is_documented_that_is_not_there() -> None:
    documented = re.findall(r"^\| `graspd (\w+)", (DOCS / "operating.md").read_text(), re.MULTILINE)

    assert sorted(documented) == COMMANDS
