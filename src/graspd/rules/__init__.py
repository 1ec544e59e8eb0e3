"""Which events graspd takes, decided without looking anything up.

    (event, facts, policy, now) -> a verdict, and the changes to the store that follow from it

`inquiry` says what must be known about a batch, the store answers with `Facts`, `admission` judges event by event, and
each accepted event is added to the facts so that the next one sees it. The same rules serve events that are published,
synced and imported; the simulator runs them on a store of its own.

Versions, deletions, expirations, withdrawals and requests to vanish of an author may come in any order and at any
time: the events served in the end are the same. Four kinds of memory make that so, and each outlives the event that
caused it:

    gone       an event that was here and is no longer (replaced, deleted, expired, vanished): it never comes back
    buried     an id that its author asked to delete, perhaps before it came
    floor      a version of an address that was deleted, expired or was not for us; nothing older is taken again
    vanished   until when an author asked to be forgotten (NIP-62)

What an event needs to be taken at all (an announcement, a maintainer, something it tags) must be here when it is
judged. Its verdict says whether that may change; whoever kept the event then brings it again.

A deletion or vanish request that concerns nothing we have yet is `held`: kept durably and in force, but not served,
until something arrives that it concerns.
"""
