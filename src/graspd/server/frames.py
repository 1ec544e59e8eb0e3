"""Server frames of RFC 6455, built whole, so that a thousand small messages leave in one write."""

_SHORT, _MEDIUM = 126, 1 << 16


def text_frame(payload: bytes) -> bytes:
    """One unmasked text message."""
    # RFC 6455, section 5.2: 0x81 is a final text frame; the length takes 7, 16 or 64 bits.
    size = len(payload)
    if size < _SHORT:
        return b"\x81%c%b" % (size, payload)
    if size < _MEDIUM:
        return b"\x81\x7e%b%b" % (size.to_bytes(2, "big"), payload)
    return b"\x81\x7f%b%b" % (size.to_bytes(8, "big"), payload)
