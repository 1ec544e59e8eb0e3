"""Every duration, count and threshold of the engine, each with its reason. Settings set them; nothing else does."""

from dataclasses import dataclass

from graspd.types import UnixTime


@dataclass(frozen=True, slots=True)
class SyncLimits:
    """Defaults are the papers' where they have one; seconds unless the name says otherwise."""

    # The own relay
    window_s: float = 5.0  # gathers a burst of new items into one plan; starts at the first event and is not extended
    own_reread_delay_s: float = 2.0  # a feed that keeps lagging must not turn into a loop of readings

    # When a link is made again
    quick_reconnect_s: int = 900  # away for up to this long: what was missed is asked for by time
    gap_slack_s: int = 60  # an event as young as this may still be on its way to us live
    since_margin_s: int = 900  # `since` looks at created_at: events signed earlier and sent later need room
    daily_s_min: int = 23 * 3600  # the daily sync comes at a random time, so that servers do not call in step
    daily_s_max: int = 25 * 3600  # an hour to either side of a day keeps peers apart

    # Health
    backoff_s_first: float = 5.0  # after the first failure; most are over by then
    backoff_s_max: float = 3600.0  # a relay that is down for hours costs one dial an hour
    backoff_jitter: float = 0.1  # share by which a delay may be longer, for the same reason as the daily spread
    dead_after_s: int = 24 * 3600  # without a break: a third of all relays that are named are gone for good
    dead_retry_s: float = 24 * 3600.0  # between the dials of a dead peer: some come back
    stable_s: float = 300.0  # a link must live this long before its loss counts as the first failure again
    unwelcome_s: float = 3600.0  # until a peer that refused our authentication is dialled again
    dial_s_max: float = 30.0  # longer than any shell should try: a dial without an answer is a failure
    dials_at_once_max: int = 32  # sockets and name look-ups in flight

    # Rate limits of peers
    rate_limit_s: float = 65.0  # most relays count by the minute
    rate_limit_s_max: float = 3600.0  # however often it is said: an hour without a request is enough for any relay
    rate_limit_memory_s: float = 600.0  # another within this time after the last: twice as long
    requests_burst: int = 60  # requests at once to a peer that has been left in peace
    requests_per_s: float = 4.0  # and from then on
    requests_per_s_min: float = 0.05  # to a peer that goes on asking us to slow down

    # Filters
    filter_values: int = 100  # values a filter to begin with
    filters_max: int = 70  # open live filters before they are consolidated
    filters_per_request: int = 10  # what the stricter relays take in one REQ
    message_bytes: int = 128 * 1024  # taken for granted where a peer does not say
    message_bytes_max: int = 512 * 1024  # of a peer that takes more, no more is used
    message_bytes_min: int = 4096  # a peer that says less is not believed: no filter would fit
    subscriptions: int = 20  # taken for granted where a peer does not say
    reshape_s: float = 3.0  # between learning that a peer takes less and asking again
    live_refusals_max: int = 3  # of live filters by a link; then they are looked at in turn
    subscriptions_for_transfers: int = 4  # of these, kept free of live filters

    # Batches and transfers
    batch_items: int = 600  # items a batch: their live filters fit one message
    batches_at_once: int = 2  # a peer; more are planned as these end
    batches_waiting_max: int = 16  # a peer; with so many that ended badly, no more are planned
    transfers_at_once: int = 3  # requests a peer works on for us
    idle_s: float = 30.0  # without progress a request has failed
    job_s: float = 120.0  # a question to our own store without an answer has failed
    negentropy_first_s: float = 10.0  # silence for this long after NEG-OPEN: not supported
    retry_s_first: float = 30.0  # a batch that ended badly
    retry_s_max: float = 3600.0  # between the tries of a batch that goes on ending badly
    reconcile_tries: int = 2  # of a filter whose reconciling breaks off; then it is walked
    interruptions_max: int = 5  # of a request that is closed for a reason that should pass, before it has failed

    # Paged transfers
    page_limit: int = 500  # what relays give most often
    page_cap_min: int = 5  # a page with fewer events was not cut short: no relay caps this low
    page_events_max: int = 10_000  # more than any relay gives in one answer: a page without end
    pages_max: int = 20_000  # a walk

    # Negentropy
    negentropy: bool = True  # reconcile where the peer can; off, everything is paged
    frame_bytes: int = 60_000  # in hex and JSON within the 128 KiB that relays take
    rounds_max: int = 1000  # a relay with small frames needs a round for every 1,800 ids
    rounds_idle_max: int = 12  # rounds in a row that name no id: a tree of a million items is four deep
    need_max: int = 200_000  # ids a session
    deferred_max: int = 10_000  # ids a transfer waits for another peer to deliver
    scanned_at_once: int = 5000  # ids looked at in one step, so that no step is long
    refused_retry_s: int = 3600  # until a peer that refused to reconcile, for a reason that may pass, is asked again
    unsupported_retry_s: int = 24 * 3600  # until one that does not know negentropy is: relays are upgraded
    range_splits_max: int = 64  # of the time range, after `blocked:`
    fetch_ids: int = 100  # relays cap look-ups by id at about 150
    fetch_tries: int = 2  # requests for an id that was claimed, before it is called a phantom
    phantom_s: int = 24 * 3600  # a phantom is not asked for again within this time
    phantoms_max: int = 1000  # a peer

    # Ledger
    claim_s: float = 20.0  # a peer that was asked for an id holds the claim this long without progress
    recent_max: int = 50_000  # ids accepted lately: not fetched, verified or ingested again
    in_hand_max: int = 2000  # events being ingested; no new pages are asked for above this

    # Rejected events
    rejected_max: int = 50_000  # ids remembered with their reason
    rejected_s: int = 7 * 24 * 3600  # and for how long: the operator's rules may have changed
    rejected_bytes_max: int = 16 * 1024 * 1024  # of events kept to be tried again without asking for them
    retried_at_once: int = 200  # events tried again in one step
    refetch_max: int = 5000  # ids waiting to be fetched again, a peer

    # What announcements may ask of us
    relays_per_announcement: int = 20  # real announcements name fewer than ten
    relays_per_author: int = 60  # different ones over all repositories of an author, so that nobody fills all rooms
    peers_max: int = 2000  # links at once; the papers stop at 100, and each link costs a socket and its live filters
    repositories_max: int = 100_000  # announcements kept in mind, ten times what the engine was measured with
    roots_per_repository: int = 50_000  # so that one repository cannot take all the memory
    roots_max: int = 1_000_000  # in all, at about a hundred bytes each
    repositories_per_root: int = 50  # `a` tags of one root event that count

    # Budgets of misbehaviour
    budget: float = 100.0  # a hundred slips at once; prices are in the docs of sync
    budget_per_s: float = 0.05  # regained
    rest_s_first: float = 3600.0  # for a peer that spent its budget; twice as long each time
    rest_s_max: float = 24 * 3600.0  # however often: an honest peer that was misjudged is back within a day

    # Housekeeping
    sweep_s: float = 60.0  # empty peers let go, rooms given away, shrunken filters rebuilt
    save_s: float = 60.0  # between savings; a crash loses as much of what was learned, never events
    saved_at_once: int = 500  # records and marks in one saving, so that no step is long
    rota_s: float = 600.0  # what cannot be live is looked at this often
    rooms_given_at_once: int = 50  # peers compared when there are more than we keep
    peers_at_once: int = 16  # peers looked after in one step, so that no step is long
    slice_items: int = 2000  # items planned in one step, so that no step is long

    def asked_from(self, at: UnixTime) -> UnixTime:
        """The `since` of a request for what was published from this time on."""
        return UnixTime(max(0, at - self.since_margin_s))
