"""Ids and public keys as the protocol spells them."""

import re
from typing import Final

is_hex64: Final = re.compile(r"[0-9a-f]{64}").fullmatch
