"""How many different relays one author may make us dial: a share for each, whatever the number of repositories."""

from graspd.types import PubKey, RelayUrl


class Shares:
    """Relays in use by author, each with the number of their repositories that use it."""

    def __init__(self, relays_per_author: int) -> None:
        self._most = relays_per_author
        self._uses: dict[PubKey, dict[RelayUrl, int]] = {}

    def take(self, author: PubKey, relays: list[RelayUrl]) -> tuple[RelayUrl, ...]:
        """Those of a repository's relays that fit the author's share, which they use from now on."""
        uses = self._uses.setdefault(author, {})
        taken = []
        for url in dict.fromkeys(relays):
            if url in uses or len(uses) < self._most:
                uses[url] = uses.get(url, 0) + 1
                taken.append(url)
        if not uses:
            del self._uses[author]
        return tuple(taken)

    def release(self, author: PubKey, relays: tuple[RelayUrl, ...]) -> None:
        """A repository does not use these any more."""
        uses = self._uses.get(author)
        if uses is None:
            return
        for url in relays:
            if uses.get(url, 0) > 1:
                uses[url] -= 1
            else:
                uses.pop(url, None)
        if not uses:
            del self._uses[author]
