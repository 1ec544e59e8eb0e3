"""The options that commands share, and the settings they lead to."""

import logging
from pathlib import Path
from typing import Annotated

import typer

from graspd.settings import Settings, load

Config = Annotated[Path | None, typer.Option("--config", envvar="GRASPD_CONFIG", help="TOML file of settings.")]
DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Directory of the database.")]
Bind = Annotated[str | None, typer.Option("--bind", metavar="HOST:PORT", help="Where to listen.")]
Domain = Annotated[
    str | None, typer.Option("--domain", metavar="HOST[:PORT]", help="The public name by which announcements name us.")
]
Bootstrap = Annotated[
    list[str] | None,
    typer.Option("--bootstrap", metavar="URL", help="A relay to sync with from the start; may be given several times."),
]
AllowPrivatePeers = Annotated[
    bool | None,
    typer.Option(
        "--allow-private-peers/--no-allow-private-peers",
        help="Sync with relays on private and loopback addresses too.",
    ),
]
Sync = Annotated[
    bool | None, typer.Option("--sync/--no-sync", help="Keep in sync with the relays that announcements name.")
]

Flag = str | Path | bool | list[str] | None


def loaded(config: Path | None, **flags: Flag) -> tuple[Settings, dict[str, str]]:
    """The settings in force, and where each came from."""
    return load(flags, config)


def start_logging(level: str) -> None:
    """One event a line, to standard error."""
    logging.basicConfig(level=level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
