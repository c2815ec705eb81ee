-- Migration 1: the whole schema.  Times are UTC seconds; JSON columns hold compact JSON text; ids are TEXT from new_id().
-- STRICT everywhere: a wrong type is an error here, not a surprise later.

CREATE TABLE threads (
    id         TEXT PRIMARY KEY NOT NULL,
    scope      TEXT NOT NULL,
    channel    TEXT NOT NULL,
    title      TEXT NOT NULL DEFAULT '',
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL
) STRICT;
CREATE INDEX threads_by_scope ON threads (scope, updated_at DESC);

-- An accepted input.  Terminal states and only they carry an outcome, so "exactly one outcome" is kept by the table too.
CREATE TABLE inputs (
    seq           INTEGER PRIMARY KEY AUTOINCREMENT,
    id            TEXT NOT NULL UNIQUE,
    thread        TEXT NOT NULL REFERENCES threads (id),
    scope         TEXT NOT NULL,
    channel       TEXT NOT NULL,
    peer          TEXT NOT NULL,
    role          TEXT NOT NULL,
    text          TEXT NOT NULL,
    client_msg_id TEXT NOT NULL DEFAULT '',
    no_memory     INTEGER NOT NULL DEFAULT 0 CHECK (no_memory IN (0, 1)),
    can_ask       INTEGER NOT NULL DEFAULT 0 CHECK (can_ask IN (0, 1)),
    untrusted     INTEGER NOT NULL DEFAULT 0 CHECK (untrusted IN (0, 1)),
    state         TEXT NOT NULL DEFAULT 'accepted'
                  CHECK (state IN ('accepted', 'running', 'answered', 'stopped', 'failed', 'refused', 'reported')),
    attempts      INTEGER NOT NULL DEFAULT 0,
    turn          TEXT NOT NULL DEFAULT '',
    accepted_at   REAL NOT NULL,
    ended_at      REAL,
    outcome       TEXT,                                  -- JSON of records.Outcome
    CHECK ((state IN ('accepted', 'running')) = (outcome IS NULL))
) STRICT;
CREATE UNIQUE INDEX inputs_once ON inputs (channel, peer, client_msg_id) WHERE client_msg_id <> '';
CREATE INDEX inputs_unfinished ON inputs (seq) WHERE outcome IS NULL;
CREATE INDEX inputs_by_thread ON inputs (thread, seq);

CREATE TABLE turns (
    id         TEXT PRIMARY KEY NOT NULL,
    thread     TEXT NOT NULL REFERENCES threads (id),
    input      TEXT NOT NULL UNIQUE REFERENCES inputs (id),
    started_at REAL NOT NULL,
    ended_at   REAL,
    state      TEXT NOT NULL,                            -- running, then the outcome's state
    usage      TEXT NOT NULL DEFAULT '{}'
) STRICT;
CREATE INDEX turns_by_thread ON turns (thread, started_at);

CREATE TABLE events (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,        -- order over the whole store; never used twice
    id         TEXT NOT NULL UNIQUE,
    scope      TEXT NOT NULL,
    thread     TEXT NOT NULL REFERENCES threads (id),
    turn       TEXT NOT NULL DEFAULT '',
    channel    TEXT NOT NULL,
    peer       TEXT NOT NULL DEFAULT '',
    kind       TEXT NOT NULL CHECK (kind IN ('user', 'assistant', 'tool', 'note')),
    text       TEXT NOT NULL,
    data       TEXT NOT NULL DEFAULT '{}',
    created_at REAL NOT NULL,
    layer      TEXT NOT NULL DEFAULT 'context' CHECK (layer IN ('context', 'cold', 'archived')),
    no_memory  INTEGER NOT NULL DEFAULT 0 CHECK (no_memory IN (0, 1))
) STRICT;
CREATE INDEX events_by_thread ON events (thread, seq);
CREATE INDEX events_by_turn ON events (turn, seq);
CREATE INDEX events_by_scope ON events (scope, layer, seq);

-- One occurrence of a piece of media.  Its holder is the layer of one column, so it cannot have two.
CREATE TABLE blocks (
    id           TEXT PRIMARY KEY NOT NULL,
    hash         TEXT NOT NULL,                          -- sha256 of the bytes, which lie in a file of that name
    media_type   TEXT NOT NULL,
    bytes        INTEGER NOT NULL,
    event        TEXT NOT NULL REFERENCES events (id),
    holder_layer TEXT NOT NULL DEFAULT 'context' CHECK (holder_layer IN ('context', 'cold', 'stable')),
    created_at   REAL NOT NULL
) STRICT;
CREATE INDEX blocks_by_event ON blocks (event);
CREATE INDEX blocks_by_hash ON blocks (hash);

CREATE TABLE settings (
    key        TEXT PRIMARY KEY NOT NULL,
    value      TEXT NOT NULL,                            -- JSON
    updated_at REAL NOT NULL
) STRICT, WITHOUT ROWID;

-- What was seeded once is never seeded again, also when a person removed it.
CREATE TABLE seeds (
    key       TEXT PRIMARY KEY NOT NULL,
    seeded_at REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE peers (
    id         TEXT PRIMARY KEY NOT NULL,                -- PLUGIN:LOCAL
    plugin     TEXT NOT NULL,
    name       TEXT NOT NULL DEFAULT '',
    role       TEXT NOT NULL CHECK (role IN ('owner', 'trusted', 'guest')),
    created_at REAL NOT NULL,
    seen_at    REAL NOT NULL
) STRICT;

-- A permission rule; a NULL or empty column means any.
CREATE TABLE rules (
    id         TEXT PRIMARY KEY NOT NULL,
    channel    TEXT,
    role       TEXT,
    peer       TEXT,
    tool       TEXT,
    tool_class TEXT,
    thread     TEXT,
    decision   TEXT NOT NULL CHECK (decision IN ('allow', 'ask', 'deny')),
    created_at REAL NOT NULL
) STRICT;

CREATE TABLE grants (
    plugin     TEXT NOT NULL,
    capability TEXT NOT NULL,
    granted_at REAL NOT NULL,
    PRIMARY KEY (plugin, capability)
) STRICT, WITHOUT ROWID;

CREATE TABLE plugin_states (
    plugin     TEXT PRIMARY KEY NOT NULL,
    state      TEXT NOT NULL,
    reason     TEXT NOT NULL DEFAULT '',
    crashes    TEXT NOT NULL DEFAULT '[]',               -- JSON: wall-clock seconds, oldest first
    updated_at REAL NOT NULL
) STRICT;

CREATE TABLE crash_reports (
    id      TEXT PRIMARY KEY NOT NULL,
    plugin  TEXT NOT NULL,
    at      REAL NOT NULL,
    code    INTEGER,
    signal  INTEGER,
    stderr  TEXT NOT NULL DEFAULT '',
    pending TEXT NOT NULL DEFAULT '[]'                   -- JSON: methods that had no answer yet
) STRICT;
CREATE INDEX crash_reports_by_plugin ON crash_reports (plugin, at DESC);

CREATE TABLE logins (
    hash       TEXT PRIMARY KEY NOT NULL,                -- of the secret; the secret itself is never stored
    kind       TEXT NOT NULL CHECK (kind IN ('link', 'session')),
    peer       TEXT NOT NULL,
    created_at REAL NOT NULL,
    expires_at REAL NOT NULL
) STRICT;
CREATE INDEX logins_by_expiry ON logins (expires_at);
