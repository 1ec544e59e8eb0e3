"""`graspd settings`"""

from typing import Annotated, Any, Final

import typer
from pydantic.fields import FieldInfo

from graspd.cli.options import Bind, Config, DataDir, Domain, loaded
from graspd.settings import ENV_PREFIX, Settings
from graspd.sync_settings import PREFIX

_PAGE: Final = """\
# Settings

Each setting can be given in the TOML file named by `--config` (or `GRASPD_CONFIG`) under its name, and in the
environment as `{prefix}` and its name in capitals; lists are written there with commas. Flags beat the environment,
which beats the file. A wrong value is one line that names it, and exit code 2. `graspd settings` prints every setting
with the value in force and where it came from.

This page is what `graspd settings --markdown` writes.

## The relay

{relay}

## Proactive sync: bounds and times

These seldom need a change. They bound what other relays, and the announcements that name them, can make us do.

{sync}"""


def settings(
    bind: Bind = None,
    domain: Domain = None,
    data_dir: DataDir = None,
    config: Config = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Write docs/settings.md instead: the defaults.")] = False,
) -> None:
    """Print every setting: its value, where it came from, and what it is for."""
    if markdown:
        print(page())
        return
    in_force, origins = loaded(config, bind=bind, domain=domain, data_dir=data_dir)
    for name, described in _in_order():
        print(f"{ENV_PREFIX}{name.upper()}={_shown(getattr(in_force, name))}  [{origins[name]}]")
        print(f"    {described.description}")


def page() -> str:
    """The settings as a page for people."""
    rows = [(name, _row(name, described)) for name, described in _in_order()]
    return _PAGE.format(
        prefix=ENV_PREFIX,
        relay=_table([row for name, row in rows if not name.startswith(PREFIX)]),
        sync=_table([row for name, row in rows if name.startswith(PREFIX)]),
    )


def _in_order() -> list[tuple[str, FieldInfo]]:
    """What operators look for first comes first."""
    return sorted(Settings.model_fields.items(), key=lambda field: field[0].startswith(PREFIX))


def _row(name: str, described: FieldInfo) -> str:
    default = _shown(described.get_default(call_default_factory=True))
    return f"| `{name}` | {f'`{default}`' if default else 'empty'} | {described.description} |"


def _table(rows: list[str]) -> str:
    return "\n".join(["| setting | default | what it is |", "|---|---|---|", *rows])


def _shown(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)
