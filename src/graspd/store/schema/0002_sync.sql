-- What proactive sync has learned of its peers; graspd.sync.records explains it. Losing it costs traffic, never events.
CREATE TABLE sync_peer (url TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;

-- A repository and exactly these root events of it are confirmed with a peer.
CREATE TABLE sync_mark (
    peer        TEXT    NOT NULL,
    repo        BLOB    NOT NULL,      -- UTF-8; text would end at a NUL
    roots       INTEGER NOT NULL,
    digest      TEXT    NOT NULL,
    certificate TEXT,                  -- what proved it
    PRIMARY KEY (peer, repo)
) STRICT, WITHOUT ROWID;

-- Events that were rejected and need not be fetched again, until what they wait for has come.
CREATE TABLE sync_rejected (id BLOB PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
