"""`graspd serve`"""

from graspd.cli.options import Bind, Config, DataDir, Domain, loaded, start_logging


def serve(bind: Bind = None, domain: Domain = None, data_dir: DataDir = None, config: Config = None) -> None:
    """Serve the relay until SIGTERM or SIGINT."""
    settings, _ = loaded(config, bind=bind, domain=domain, data_dir=data_dir)
    start_logging(settings.log_level)
    import uvloop

    from graspd import app

    uvloop.run(app.serve(settings))
