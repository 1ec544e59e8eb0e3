"""What a process and all its descendants cost, read from /proc (Linux only)."""

import os
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def tree(pid: int) -> list[int]:
    """The process and all that descend from it."""
    found = [pid]
    for known in found:
        for task in Path(f"/proc/{known}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    return found


def cpu_s(pid: int) -> float:
    """Seconds of CPU used so far by the tree, in user and kernel mode."""
    return sum(_cpu_ticks(member) for member in tree(pid)) / TICKS_PER_S


def resident_bytes(pid: int) -> int:
    """Resident memory of the tree, pages shared between its processes counted in each."""
    return sum(_rollup_bytes(member, "Rss:") for member in tree(pid))


def proportional_bytes(pid: int) -> int:
    """Resident memory of the tree, each shared page split between the processes that share it."""
    return sum(_rollup_bytes(member, "Pss:") for member in tree(pid))


def _cpu_ticks(pid: int) -> int:
    # The second field is the command's name in brackets and may hold blanks.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _rollup_bytes(pid: int, field: str) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"no {field} in the memory map of process {pid}")
