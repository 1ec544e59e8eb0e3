"""`graspd export`"""

import sys

from graspd.cli.options import Config, DataDir, loaded
from graspd.errors import DataDirError


def export(data_dir: DataDir = None, config: Config = None) -> None:
    """Write every event to standard output as JSONL, oldest first. A running server may go on."""
    from graspd.store.sqlite.connection import FILE_NAME
    from graspd.store.sqlite.store import export as exported

    settings, _ = loaded(config, data_dir=data_dir)
    path = settings.data_dir / FILE_NAME
    if not path.exists():
        raise DataDirError(f"there is no database at {path}")
    for raw in exported(path):
        sys.stdout.buffer.write(raw + b"\n")
    sys.stdout.buffer.flush()
