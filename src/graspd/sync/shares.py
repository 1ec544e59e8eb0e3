"""How many different relays one author may make us dial: a share for each, whatever the number of repositories."""

from graspd.types import PubKey, RelayUrl


class Shares:
    """Relays in use by author, and by which of their repositories."""

    def __init__(self, relays_per_author: int) -> None:
        self._most = relays_per_author
        self._uses: dict[PubKey, dict[RelayUrl, dict[int, None]]] = {}

    def take(self, author: PubKey, repo: int, relays: list[RelayUrl]) -> tuple[RelayUrl, ...]:
        """Those of a repository's relays that fit the author's share, which they use from now on."""
        self.release(author, repo)
        uses = self._uses.setdefault(author, {})
        taken = []
        for url in relays:
            if url in uses or len(uses) < self._most:
                uses.setdefault(url, {})[repo] = None
                taken.append(url)
        if not uses:
            del self._uses[author]
        return tuple(taken)

    def release(self, author: PubKey, repo: int) -> None:
        """The repository uses none of them any more."""
        uses = self._uses.get(author)
        if uses is None:
            return
        for url in [url for url, repos in uses.items() if repo in repos]:
            del uses[url][repo]
            if not uses[url]:
                del uses[url]
        if not uses:
            del self._uses[author]
