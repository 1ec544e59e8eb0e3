"""What all tests share: properties are about what is true, not about how fast this machine finds it out."""

import signal

from hypothesis import settings

settings.register_profile("graspd", deadline=None)
settings.load_profile("graspd")

# A shell starts what runs in its background deaf to interrupts, and every process that a test starts would be deaf too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
