-- The events we serve. Narrow, so that look-ups, counts and reconciliation never touch a body.
CREATE TABLE event (
    seq        INTEGER PRIMARY KEY,   -- order of arrival
    id         BLOB    NOT NULL UNIQUE,
    pubkey     BLOB    NOT NULL,
    created_at INTEGER NOT NULL,
    kind       INTEGER NOT NULL,
    address    BLOB,                  -- UTF-8, where later versions replace earlier ones; text would end at a NUL
    expires_at INTEGER,               -- NIP-40
    source     INTEGER NOT NULL REFERENCES source (seq)
) STRICT;
CREATE INDEX event_by_time ON event (created_at, id);
CREATE INDEX event_by_kind ON event (kind, created_at, id);
-- With the kind behind the time, so that one index serves an author's events of all kinds and of some.
CREATE INDEX event_by_author ON event (pubkey, created_at, kind);
CREATE UNIQUE INDEX event_by_address ON event (address) WHERE address IS NOT NULL;
CREATE INDEX event_by_expiry ON event (expires_at) WHERE expires_at IS NOT NULL;

-- The canonical JSON, served as it is.
CREATE TABLE body (seq INTEGER PRIMARY KEY, raw BLOB NOT NULL) STRICT;

-- One row for each different single-letter tag: the letter and the value, 64 hex digits packed into 32 bytes.
CREATE TABLE tag (
    key        BLOB    NOT NULL,
    created_at INTEGER NOT NULL,
    seq        INTEGER NOT NULL,
    kind       INTEGER NOT NULL,
    PRIMARY KEY (key, created_at, seq)
) STRICT, WITHOUT ROWID;

-- Where events came from: "direct", "import", or how and from which peer.
CREATE TABLE source (seq INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;

-- The memory that outlives events; graspd.rules explains each.
CREATE TABLE gone (id BLOB PRIMARY KEY, pubkey BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX gone_by_author ON gone (pubkey);
CREATE TABLE buried (id BLOB NOT NULL, pubkey BLOB NOT NULL, PRIMARY KEY (id, pubkey)) STRICT, WITHOUT ROWID;
CREATE TABLE floor (
    address    BLOB PRIMARY KEY,
    created_at INTEGER NOT NULL,
    id         TEXT    NOT NULL,
    seen       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE vanished (pubkey BLOB PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE waiting (seq INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, pubkey BLOB NOT NULL, raw BLOB NOT NULL) STRICT;
CREATE INDEX waiting_by_author ON waiting (pubkey);
