"""Every setting in one table: name, type, default, help. Flags beat the environment, which beats the file.

The table below is the only place where a setting is described: the environment variable GRASPD_<NAME>, the key of the
TOML file, `graspd settings` and docs/settings.md all come from it.
"""

import ipaddress
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from graspd import __version__
from graspd.errors import SettingError
from graspd.nostr import nip11
from graspd.nostr.hex64 import is_hex64
from graspd.nostr.messages import SUB_ID_LENGTH_MAX
from graspd.nostr.nip19 import decode_npub
from graspd.nostr.relay_url import Domain, parse_domain, parse_relay_url
from graspd.relay.limits import RelayLimits
from graspd.rules.policy import Policy, RepoList
from graspd.server.listener import Door
from graspd.sync import SyncLimits
from graspd.sync_settings import SyncSettings, limits_of
from graspd.types import PubKey, RelayUrl

ENV_PREFIX: Final = "GRASPD_"


class Settings(SyncSettings):
    """The settings of all commands. Those of the sync engine's limits, `sync_<limit>`, are made in sync_settings."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    bind: str = Field("127.0.0.1:7334", description="HOST:PORT to listen on")
    domain: str = Field("", description="public HOST[:PORT] by which announcements name us; default: the bind address")
    data_dir: Path = Field(Path("data"), description="directory of the database; made if it is missing")
    name: str = Field("", description="name shown in NIP-11; default: the domain")
    description: str = Field("A GRASP relay for git collaboration (NIP-34)", description="description in NIP-11")
    contact: str = Field("", description="how to reach the operator, in NIP-11")
    owner_pubkey: str = Field("", description="the operator's public key (hex), in NIP-11")
    log_level: str = Field("info", description="debug, info, warning or error")

    archive: list[str] = Field(
        [], description="repositories taken without listing us: npub, npub/identifier, identifier or *"
    )
    blocked_authors: list[str] = Field([], description="npubs whose events are refused")
    blocked_repositories: list[str] = Field([], description="repositories refused: npub, npub/identifier or identifier")

    message_bytes_max: int = Field(
        256 * 1024, ge=4096, description="largest message a client may send; larger ends the connection"
    )
    event_bytes_max: int = Field(
        128 * 1024, ge=1024, description="largest event, in its canonical spelling; patches are long"
    )
    event_tags_max: int = Field(2000, ge=1, description="most tags of an event")
    future_s_max: int = Field(
        900, ge=0, description="how far ahead of our clock created_at may be, for clients whose clock is off"
    )
    subscriptions_max: int = Field(200, ge=1, description="open subscriptions of a connection")
    filters_max: int = Field(100, ge=1, description="filters of one REQ or COUNT")
    filter_values_max: int = Field(5000, ge=1, description="values in all filters of one REQ or COUNT together")
    results_max: int = Field(
        500, ge=1, description="stored events sent for one filter; the client pages for more (NIP-67)"
    )
    query_s_max: float = Field(5.0, gt=0, description="seconds a query may take before it is given up")
    events_per_minute: int = Field(
        600, ge=0, description="events an address may publish a minute, over all its connections; 0: no limit"
    )
    connections_max: int = Field(4000, ge=1, description="connections in all; the file descriptors must suffice")
    connections_per_address: int = Field(100, ge=0, description="connections of one address; 0: no limit")
    handshake_s_max: float = Field(10.0, gt=0, description="seconds until a new connection must have sent its request")
    idle_s_max: float = Field(
        1800.0, gt=0, description="seconds after which a silent connection without a subscription is closed"
    )
    ping_s: float = Field(55.0, gt=0, description="seconds between pings; a client that does not answer one is gone")
    unsent_bytes_max: int = Field(
        16 * 1024 * 1024, ge=65536, description="bytes a slow client may leave unread before it is dropped"
    )
    stalled_bytes_max: int = Field(
        256 * 1024 * 1024,
        ge=1024 * 1024,
        description="bytes of answers that wait for slow clients, in all; beyond it the slowest are dropped",
    )
    auth_attempts_max: int = Field(10, ge=1, description="AUTH messages a connection may send (NIP-42)")
    trusted_proxies: list[str] = Field([], description="addresses or networks of proxies whose X-Forwarded-For counts")

    negentropy: bool = Field(True, description="answer NEG-OPEN (NIP-77)")
    neg_sessions_max: int = Field(20, ge=1, description="open NIP-77 sessions of a connection")
    neg_records_max: int = Field(
        1_000_000, ge=1, description="most events a NIP-77 filter may match; more is answered blocked:"
    )
    neg_rounds_max: int = Field(512, ge=1, description="most rounds of one NIP-77 session")
    neg_session_s_max: float = Field(600.0, gt=0, description="seconds until a NIP-77 session is ended, done or not")
    neg_frame_bytes_max: int = Field(60_000, ge=4096, description="bytes of a NIP-77 message before hex")

    verify_workers: int = Field(
        0, ge=0, description="processes that check signatures; 0: one fewer than the cores, at least one"
    )
    reader_threads: int = Field(2, ge=1, description="queries that run at the same time")

    sync: bool = Field(True, description="keep in sync with the relays that announcements name")
    bootstrap: list[str] = Field(
        [], description="relays to sync with whatever the announcements say; a missing scheme means wss"
    )
    allow_private_peers: bool = Field(
        False, description="dial private, loopback and other special addresses too; for tests and private networks"
    )

    @field_validator("*", mode="before")
    @classmethod
    def _a_switch_is_nothing_else(cls, value: Any, field: ValidationInfo) -> Any:
        assert field.field_name is not None
        if isinstance(value, bool) and cls.model_fields[field.field_name].annotation is not bool:
            raise ValueError("it is neither true nor false")
        return value

    @field_validator("bind")
    @classmethod
    def _bind_is_host_and_port(cls, value: str) -> str:
        parsed = parse_domain(value)
        if parsed is None or (parsed.port is None and not value.endswith(":80")):
            raise ValueError("it is not HOST:PORT")
        return value

    @field_validator("domain")
    @classmethod
    def _domain_is_one(cls, value: str) -> str:
        if value and parse_domain(value) is None:
            raise ValueError("it is not HOST or HOST:PORT")
        return value

    @field_validator("log_level")
    @classmethod
    def _log_level_is_known(cls, value: str) -> str:
        if value.lower() not in ("debug", "info", "warning", "error"):
            raise ValueError("it is not debug, info, warning or error")
        return value.lower()

    @field_validator("archive", "blocked_repositories")
    @classmethod
    def _repositories_parse(cls, value: list[str]) -> list[str]:
        try:
            RepoList.parse(value)
        except SettingError as error:
            raise ValueError(str(error)) from error
        return value

    @field_validator("blocked_authors")
    @classmethod
    def _authors_are_npubs(cls, value: list[str]) -> list[str]:
        for npub in value:
            if decode_npub(npub) is None:
                raise ValueError(f"{npub!r} is not an npub")
        return value

    @field_validator("owner_pubkey")
    @classmethod
    def _owner_is_a_key(cls, value: str) -> str:
        if value and not is_hex64(value):
            raise ValueError("it is not a public key of 64 lower-case hex digits")
        return value

    @field_validator("bootstrap")
    @classmethod
    def _bootstrap_are_relays(cls, value: list[str]) -> list[str]:
        for text in value:
            if parse_relay_url(text) is None:
                raise ValueError(f"{text!r} is not the URL of a relay")
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def _proxies_are_networks(cls, value: list[str]) -> list[str]:
        for network in value:
            ipaddress.ip_network(network, strict=False)
        return value

    @property
    def bind_host(self) -> str:
        """Where we listen."""
        return self.bind.rpartition(":")[0].strip("[]")

    @property
    def bind_port(self) -> int:
        """Where we listen; 0 lets the system choose."""
        return int(self.bind.rpartition(":")[2])

    @property
    def public_domain(self) -> Domain:
        """Who we are."""
        domain = parse_domain(self.domain or self.bind)
        assert domain is not None
        return domain

    def policy(self) -> Policy:
        """What the rules take from the settings."""
        authors = (decode_npub(npub) for npub in self.blocked_authors)
        return Policy(
            domain=self.public_domain,
            archive=RepoList.parse(self.archive),
            blocked_authors=frozenset(PubKey(pubkey) for pubkey in authors if pubkey is not None),
            blocked_repositories=RepoList.parse(self.blocked_repositories),
            event_bytes_max=self.event_bytes_max,
            event_tags_max=self.event_tags_max,
            future_s_max=self.future_s_max,
        )

    def bootstrap_peers(self) -> tuple[RelayUrl, ...]:
        """The bootstrap relays in one spelling, each once."""
        parsed = (parse_relay_url(text) for text in self.bootstrap)
        return tuple(dict.fromkeys(url for url in parsed if url is not None))

    def sync_limits(self) -> SyncLimits:
        """What the sync engine takes from the settings."""
        return limits_of(self)

    def relay_limits(self) -> RelayLimits:
        """What sessions take from the settings."""
        return RelayLimits(
            subscriptions_max=self.subscriptions_max,
            filters_max=self.filters_max,
            filter_values_max=self.filter_values_max,
            results_max=self.results_max,
            negentropy=self.negentropy,
            neg_sessions_max=self.neg_sessions_max,
            neg_records_max=self.neg_records_max,
            neg_rounds_max=self.neg_rounds_max,
            neg_session_s_max=self.neg_session_s_max,
            neg_frame_bytes_max=self.neg_frame_bytes_max,
            auth_attempts_max=self.auth_attempts_max,
        )

    def door(self) -> Door:
        """What the listener takes from the settings."""
        name = self.name or str(self.public_domain)
        return Door(
            host=self.bind_host,
            port=self.bind_port,
            connections_max=self.connections_max,
            connections_per_address=self.connections_per_address,
            handshake_s_max=self.handshake_s_max,
            message_bytes_max=self.message_bytes_max,
            ping_s=self.ping_s,
            trusted_proxies=tuple(ipaddress.ip_network(network, strict=False) for network in self.trusted_proxies),
            information=self._information(name),
            greeting=(
                f"{name}: a GRASP relay (graspd {__version__})\n\n"
                f"Connect a Nostr client to ws://{self.public_domain} (wss:// behind TLS).\n"
            ),
        )

    def _information(self, name: str) -> dict[str, Any]:
        return nip11.information(
            {
                "name": name,
                "description": self.description,
                "pubkey": self.owner_pubkey,
                "contact": self.contact,
                "supported_nips": nip11.supported_nips(self.negentropy),
                "supported_grasps": nip11.supported_grasps(self.sync),
                "repo_acceptance_criteria": self._criteria(),
                "software": "graspd",
                "version": __version__,
                "limitation": self._limitation(),
            }
        )

    def _limitation(self) -> dict[str, Any]:
        """Every bound that a client can run into. The first half is NIP-11's own; the rest has no name there yet."""
        told: dict[str, Any] = {
            "max_message_length": self.message_bytes_max,
            "max_subscriptions": self.subscriptions_max,
            "max_limit": self.results_max,
            "default_limit": self.results_max,
            "max_subid_length": SUB_ID_LENGTH_MAX,
            "max_event_tags": self.event_tags_max,
            "max_content_length": self.event_bytes_max,
            "created_at_upper_limit": self.future_s_max,
            "auth_required": False,
            "payment_required": False,
            "restricted_writes": True,
            "max_event_length": self.event_bytes_max,
            "max_filters": self.filters_max,
            "max_filter_values": self.filter_values_max,
            "max_query_seconds": self.query_s_max,
            "max_events_per_minute": self.events_per_minute,
            "max_connections": self.connections_max,
            "max_connections_per_address": self.connections_per_address,
            "max_handshake_seconds": self.handshake_s_max,
            "max_idle_seconds": self.idle_s_max,
            "max_unsent_length": self.unsent_bytes_max,
            "max_stalled_length": self.stalled_bytes_max,
            "max_auth_attempts": self.auth_attempts_max,
        }
        if self.negentropy:
            told |= {
                "max_negentropy_sessions": self.neg_sessions_max,
                "max_negentropy_records": self.neg_records_max,
                "max_negentropy_rounds": self.neg_rounds_max,
                "max_negentropy_seconds": self.neg_session_s_max,
                "max_negentropy_frame_length": self.neg_frame_bytes_max,
            }
        return told

    def _criteria(self) -> str:
        if self.archive:
            return f"Announcements that list {self.public_domain}, and repositories that the operator archives"
        return f"Announcements that list {self.public_domain} in both clone and relays"


def load(
    flags: Mapping[str, Any], config: Path | None, environ: Mapping[str, str] | None = None
) -> tuple[Settings, dict[str, str]]:
    """The settings in force, and where each came from. A wrong one is named in one line."""
    values: dict[str, Any] = {}
    origins = dict.fromkeys(Settings.model_fields, "default")
    environ = os.environ if environ is None else environ
    layers = [
        (f"file {config}", {} if config is None else _from_file(config)),
        ("environment", _from_environment(environ)),
        ("flag", {name: value for name, value in flags.items() if value is not None}),
    ]
    for origin, layer in layers:
        for name, value in layer.items():
            if name not in Settings.model_fields:
                where = (
                    f"{ENV_PREFIX}{name.upper()} in the environment"
                    if origin == "environment"
                    else f"{name!r} in {origin}"
                )
                raise SettingError(f"{where} is not a setting; `graspd settings` lists them")
            values[name] = value
            origins[name] = origin
    try:
        return Settings(**values), origins
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        why = first["msg"].removeprefix("Value error, ")
        raise SettingError(f"{name} = {values.get(name)!r} (from {origins[name]}): {why}") from error


def _from_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise SettingError(f"config file {path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"config file {path} is not valid TOML: {error}") from error


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    given = {
        name.removeprefix(ENV_PREFIX).lower(): value for name, value in environ.items() if name.startswith(ENV_PREFIX)
    }
    given.pop("config", None)  # names the file itself
    return {name: _split(value) if _is_list(name) else value for name, value in given.items()}


def _is_list(name: str) -> bool:
    return name in Settings.model_fields and Settings.model_fields[name].annotation == list[str]


def _split(value: str) -> list[str]:
    return [entry.strip() for entry in value.split(",") if entry.strip()]
