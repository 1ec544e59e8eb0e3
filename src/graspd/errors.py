"""Every exception graspd raises by itself.

    GraspdError                     something an operator is told in one line
    +-- SettingError                a setting is wrong; exit code 2
    +-- DataDirError                the data directory, or a file given to us, cannot be used; exit code 2
    +-- StoreError                  the store failed; the relay stops taking events
        +-- QueryTimeout            a query took longer than its limit; only that query fails

What a remote side gets wrong is never an exception: it is a value with a typed reason (rules.verdict,
nostr.event.Malformed). What we get wrong ourselves is an assertion.
"""


class GraspdError(Exception):
    """Something an operator is told in one line."""


class SettingError(GraspdError):
    """A setting has a value that cannot be used."""


class DataDirError(GraspdError):
    """The data directory, or a file that an operator named, cannot be used."""


class StoreError(GraspdError):
    """The store could not read or commit."""


class QueryTimeout(StoreError):
    """A query ran past its time limit."""
