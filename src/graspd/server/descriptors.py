"""File descriptors: each connection takes one, and most systems hand out 1,024 unless asked for more."""

import resource
from typing import Final

# The database, its log and readers, the workers' pipes, the listening socket, and connections being turned away.
_OTHERS: Final = 128


def allow(connections: int) -> int | None:
    """Raise our limit as far as these connections need; nothing, or how many fit where the system allows fewer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _OTHERS
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return None if soft == resource.RLIM_INFINITY or soft >= wanted else soft - _OTHERS
