"""The relay information document (NIP-11, with the fields GRASP-01 adds): what is there, and nothing else."""

from typing import Any, Final

SUPPORTED_NIPS: Final = (1, 9, 11, 34, 40, 42, 45, 62, 67, 70)
NEGENTROPY_NIP: Final = 77
PROACTIVE_SYNC: Final = "GRASP-02"


def supported_nips(negentropy: bool) -> list[int]:
    """The NIPs in force: reconciliation is listed only while it is turned on."""
    return [*SUPPORTED_NIPS, NEGENTROPY_NIP] if negentropy else list(SUPPORTED_NIPS)


def supported_grasps(sync: bool) -> list[str]:
    """The GRASPs in force. GRASP-01 is more than its relay: it is listed once git is served too."""
    return [PROACTIVE_SYNC] if sync else []


def information(fields: dict[str, Any]) -> dict[str, Any]:
    """The document without the fields that have nothing to say."""
    return {name: value for name, value in fields.items() if value not in ("", None)}
