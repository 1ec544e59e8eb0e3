"""`graspd sidecar`"""

from typing import Annotated
from urllib.parse import urlsplit

import typer

from graspd.cli.options import AllowPrivatePeers, Bootstrap, Config, DataDir, Domain, loaded, start_logging
from graspd.errors import SettingError
from graspd.nostr.relay_url import parse_relay_url


def sidecar(
    url: Annotated[str, typer.Argument(help="The relay to work for; a missing scheme means wss.")],
    domain: Domain = None,
    data_dir: DataDir = None,
    config: Config = None,
    bootstrap: Bootstrap = None,
    allow_private_peers: AllowPrivatePeers = None,
) -> None:
    """Keep another relay in sync with the relays that its repositories name, until SIGTERM or SIGINT.

    Announcements that name --domain count as hosted there, and those of the archive list (`archive` in the settings).
    """
    relay = parse_relay_url(url)
    if relay is None:
        raise SettingError(f"{url!r} is not the URL of a relay")
    settings, _ = loaded(
        config,
        domain=domain,
        data_dir=data_dir,
        bootstrap=bootstrap or None,
        allow_private_peers=allow_private_peers,
    )
    if not settings.domain:
        if not settings.archive:
            raise SettingError("say which repositories the relay hosts: --domain, or `archive` in the settings")
        settings = settings.model_copy(update={"domain": urlsplit(relay).netloc})
    start_logging(settings.log_level)
    import uvloop

    from graspd import app

    uvloop.run(app.sidecar(settings, relay))
