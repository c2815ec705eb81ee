-- Migration 3: attachments and API keys.

ALTER TABLE blocks ADD COLUMN name TEXT NOT NULL DEFAULT '';

-- A file on its way in: received piece by piece, then taken by one input.  Its bytes lie in a file named by their hash
-- once it is complete.
CREATE TABLE uploads (
    id         TEXT PRIMARY KEY NOT NULL,
    peer       TEXT NOT NULL,
    name       TEXT NOT NULL,
    media_type TEXT NOT NULL,
    bytes      INTEGER NOT NULL DEFAULT 0,
    hash       TEXT NOT NULL DEFAULT '',                 -- of the complete file; '' while pieces are still missing
    input      TEXT NOT NULL DEFAULT '',                 -- the input that took it
    created_at REAL NOT NULL
) STRICT;
CREATE INDEX uploads_by_input ON uploads (input);
CREATE INDEX uploads_by_hash ON uploads (hash);

CREATE TABLE api_keys (
    hash       TEXT PRIMARY KEY NOT NULL,                -- of the key; the key itself is never stored
    name       TEXT NOT NULL UNIQUE,
    peer       TEXT NOT NULL,
    scopes     TEXT NOT NULL,                            -- JSON: capability groups
    created_at REAL NOT NULL,
    used_at    REAL
) STRICT;
