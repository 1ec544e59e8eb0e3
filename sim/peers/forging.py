"""Forges: real events with a wrong signature, and events whose id is not the hash of their content."""
# ruff: noqa: ARG002 - a hook is given what any temper may need

from random import Random

import orjson

from graspd.nostr import messages as m
from graspd.nostr.event import Event
from graspd.nostr.filter import Filter
from sim.content import forged
from sim.faults import Fault, Faults
from sim.peers.relay import Reply, Talk, Temper


class Forging(Temper):
    """The id of an event does not cover its signature, so the forgery has the id of the real one."""

    lies = True

    def __init__(self, rng: Random, faults: Faults, share: float) -> None:
        self._rng = rng
        self._faults = faults
        self._share = share

    def page(self, wanted: Filter, events: list[Event]) -> list[Event]:
        """Some of them forged."""
        page = []
        for event in events:
            if self._rng.random() < self._share:
                self._faults.saw(Fault.FORGED)
                page.append(forged(event))
            else:
                page.append(event)
        return page


class Tampering(Temper):
    """Changes the content and keeps the id."""

    lies = True

    def __init__(self, rng: Random, faults: Faults, share: float) -> None:
        self._rng = rng
        self._faults = faults
        self._share = share

    def after(self, talk: Talk, message: m.ClientMessage, replies: list[Reply], now: float) -> list[Reply]:
        """Some of them changed."""
        return [self._tampered(reply) if self._rng.random() < self._share else reply for reply in replies]

    def _tampered(self, reply: Reply) -> Reply:
        if reply.text is None or not reply.text.startswith('["EVENT"'):
            return reply
        self._faults.saw(Fault.BAD_ID)
        value = orjson.loads(reply.text)
        value[2]["content"] += " and more"
        return Reply(reply.delay_s, orjson.dumps(value).decode())
