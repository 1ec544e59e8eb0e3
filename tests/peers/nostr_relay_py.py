"""PyPI's nostr-relay: SQLite, no NIP-77."""

import json
import sys
from pathlib import Path

from tests.peers.process import HOST, RelayProcess

NO_LIMIT = 1_000_000


class PythonNostrRelay(RelayProcess):
    """nostr-relay under uvicorn with its own SQLite file; its limits on age and size of events are left out."""

    name = "nostr-relay"

    def command(self) -> list[str]:
        """Write the configuration for the port and serve."""
        config_file = self.data_dir / "config.yaml"
        config_file.write_text(json.dumps(self._config()), encoding="utf-8")  # every JSON text is YAML
        return [str(Path(sys.executable).with_name("nostr-relay")), "-c", str(config_file), "serve", "--use-uvicorn"]

    def _config(self) -> dict[str, object]:
        return {
            "relay_name": self.name,
            "storage": {
                "sqlalchemy.url": f"sqlite+aiosqlite:///{self.data_dir / 'events.sqlite3'}",
                "validators": ["nostr_relay.validators.is_signed"],
            },
            "gunicorn": {"bind": f"{HOST}:{self.port}", "loglevel": "warning"},
            "subscription_limit": NO_LIMIT,
            "logging": {"version": 1, "root": {"level": "WARNING"}},
        }
