"""The command line: one file a command. An operator's mistake is one line on standard error and exit code 2."""

import sys

import typer

from graspd.cli import export_, import_, serve, settings, sidecar
from graspd.errors import DataDirError, GraspdError, SettingError

app = typer.Typer(
    help="A GRASP relay that goes and gets it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("serve")(serve.serve)
app.command("sidecar")(sidecar.sidecar)
app.command("settings")(settings.settings)
app.command("import")(import_.import_)
app.command("export")(export_.export)


def main() -> None:
    """The entry point."""
    try:
        app()
    except (SettingError, DataDirError) as error:
        print(f"graspd: {error}", file=sys.stderr)
        sys.exit(2)
    except GraspdError as error:
        print(f"graspd: {error}", file=sys.stderr)
        sys.exit(1)
