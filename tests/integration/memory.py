"""What a process takes of the machine."""

from pathlib import Path


def resident_mib(pid: int) -> int:
    """Its resident memory."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS:"))
