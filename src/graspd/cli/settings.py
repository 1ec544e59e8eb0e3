"""`graspd settings`"""

from graspd.cli.options import Bind, Config, DataDir, Domain, loaded
from graspd.settings import ENV_PREFIX, Settings
from graspd.sync_settings import PREFIX


def settings(bind: Bind = None, domain: Domain = None, data_dir: DataDir = None, config: Config = None) -> None:
    """Print every setting: its value, where it came from, and what it is for."""
    in_force, origins = loaded(config, bind=bind, domain=domain, data_dir=data_dir)
    # The many limits of the sync engine come last.
    for name, described in sorted(Settings.model_fields.items(), key=lambda field: field[0].startswith(PREFIX)):
        value = getattr(in_force, name)
        shown = ",".join(value) if isinstance(value, list) else str(value)
        print(f"{ENV_PREFIX}{name.upper()}={shown}  [{origins[name]}]")
        print(f"    {described.description}")
