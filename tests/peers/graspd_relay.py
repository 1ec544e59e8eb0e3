"""Our own relay as an operator runs it: `graspd serve` with settings from the environment."""

from collections.abc import Mapping

from tests.peers.process import HOST, RelayProcess, python_command


class GraspdRelay(RelayProcess):
    """`graspd serve`; settings are given by name, as in `settings={"events_per_minute": "0"}`.

    It dials nobody unless a test says `"sync": "on"`.
    """

    name = "graspd"

    def __init__(self, *, settings: Mapping[str, str] | None = None) -> None:
        given = {"sync": "off", **(settings or {})}
        super().__init__(environment={f"GRASPD_{name.upper()}": value for name, value in given.items()})

    def command(self) -> list[str]:
        """Serve the port with all data below the data directory."""
        data_dir = self.data_dir / "data"
        return python_command("graspd", "serve", "--bind", f"{HOST}:{self.port}", "--data-dir", str(data_dir))
