"""Proactive sync as a state machine: told what happened and when, it answers with what to do.

    engine = SyncEngine(policy, limits, saved, entropy)
    effects = engine.step(input, now)      # never awaits, reads no clock, raises on nothing a peer sends
    engine.next_deadline()                 # when it wants to be stepped with Ticked at the latest
    engine.snapshot()                      # immutable

Words
    own relay   the relay we serve; the engine sees it as a feed of events and a store to ask
    peer        a remote relay; link: one connection to it, with an id that never comes back
    interest    what we want: repositories, the relays each names, the root events of each
    item        a repository or a root event
    batch       items of one peer that are transferred together; pending until its transfers have ended
    confirmed   items for which everything the peer has was transferred once, and live keeps up since
    transfer    one historic catch-up of one filter: reconciled (negentropy) or walked (paged REQs)
    live        open subscriptions that bring new events

How it flows
    1. Start: ReadOwnHistory. Events fed by the own relay, historic or live, change the interest at once; what that
       means for peers is decided when the window (5 s from the first event) closes, after the history has ended.
    2. Interest keeps both directions (repository to peers, peer to repositories) and names the pairs that changed,
       so a window costs what changed in it. Roots of a repository stand in order of arrival, and what is pending or
       confirmed with a peer is a range of that order (coverage): wanted - pending - confirmed is a subtraction of
       numbers, and a million of pairs fit in memory.
    3. A wanted peer is dialled when its backoff allows. An opened link is synced: quick (away for at most 15 minutes:
       everything confirmed is asked for since it was lost, less a margin), else fresh (nothing counts as confirmed).
    4. `plan` makes the next batch of a peer, the only place where that is decided, whatever the trigger. A batch opens
       its live filters first and then its transfers, so no event falls between them. Layer 1 (announcements and states)
       is a batch like any other.
    5. A transfer reconciles where the peer can, else it walks. Ids we need are claimed in the ledger before they are
       asked for; another peer's claim is waited for, and taken over if it does not deliver. Everything that arrives
       goes to Ingest, and a transfer has ended when what it asked for has been judged.
    6. All transfers of a batch ended well: its items are confirmed, with a certificate. One ended badly: the batch
       stays pending and is tried again with backoff. A lost link clears what is pending, never what is confirmed.
    7. Every day, at a time of its own, each peer is synced afresh while live goes on. What that finds is a sustained
       gap.
    8. Rejected events are remembered with the keys they wait for (rules.waiting), and tried again when one arrives.

What must always hold
    - Everything pending has a deadline that only progress moves. What passes it ends badly; nothing stays for ever.
    - An item is confirmed only by transfers that ended well, and counts as pending or confirmed at most once.
    - An id is claimed by one peer at a time. A claim ends by delivery, failure, deadline or the end of its link.
    - No peer is dialled before its time, sent more than its terms allow, or sent anything while it asked us to wait.
    - What one peer does costs its own budget and time. The only thing peers share is the ledger, and a claim expires.
    - Every queue and map has its bound in `limits`.
    - The same inputs give the same effects: ids come from counters, sets are never iterated, chance is an argument.
"""

from graspd.sync.limits import SyncLimits

__all__ = ["SyncLimits"]
