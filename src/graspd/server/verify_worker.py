"""A process that checks signatures: a length and records on standard input, one byte a record on standard output."""

import os
import signal
import sys
from contextlib import suppress
from typing import Final

from graspd.nostr.signature import verify_records

_NICE: Final = 5  # where cores are few, what waits for a commit goes before what has not been checked yet


def main() -> None:
    """Work until the input ends, which it does when the server does."""
    os.nice(_NICE)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's interrupt is for the server, which ends us
    given, answered = sys.stdin.buffer, sys.stdout.fileno()
    # A server that was killed reads no more; it takes no traceback from us to say so. A pipe takes a write whole.
    with suppress(BrokenPipeError):
        while header := given.read(4):
            records = given.read(int.from_bytes(header, "big"))
            os.write(answered, verify_records(records))


if __name__ == "__main__":
    main()
