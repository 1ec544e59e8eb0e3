"""`graspd serve`"""

from graspd.cli.options import (
    AllowPrivatePeers,
    Bind,
    Bootstrap,
    Config,
    DataDir,
    Domain,
    Sync,
    loaded,
    start_logging,
)


def serve(
    bind: Bind = None,
    domain: Domain = None,
    data_dir: DataDir = None,
    config: Config = None,
    sync: Sync = None,
    bootstrap: Bootstrap = None,
    allow_private_peers: AllowPrivatePeers = None,
) -> None:
    """Serve the relay until SIGTERM or SIGINT."""
    settings, _ = loaded(
        config,
        bind=bind,
        domain=domain,
        data_dir=data_dir,
        sync=sync,
        bootstrap=bootstrap or None,
        allow_private_peers=allow_private_peers,
    )
    start_logging(settings.log_level)
    import uvloop

    from graspd import app

    uvloop.run(app.serve(settings))
