-- Migration 3: attachments and API keys.

ALTER TABLE blocks ADD COLUMN name TEXT NOT NULL DEFAULT '';
-- Where it stands among the blocks of its event, from 0.
ALTER TABLE blocks ADD COLUMN place INTEGER NOT NULL DEFAULT 0;
-- What it costs in a prompt that shows it.
ALTER TABLE blocks ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;

-- A file that has come whole and waits for its event; then it is a block of the same id.
CREATE TABLE uploads (
    id         TEXT PRIMARY KEY NOT NULL,
    peer       TEXT NOT NULL,
    name       TEXT NOT NULL,
    media_type TEXT NOT NULL,
    bytes      INTEGER NOT NULL,
    hash       TEXT NOT NULL,
    tokens     INTEGER NOT NULL DEFAULT 0,
    input      TEXT NOT NULL DEFAULT '',                 -- the input that took it
    place      INTEGER NOT NULL DEFAULT 0,               -- among the files of that input, from 0
    created_at REAL NOT NULL
) STRICT;
CREATE INDEX uploads_by_input ON uploads (input);
CREATE INDEX uploads_by_hash ON uploads (hash);
CREATE INDEX uploads_by_peer ON uploads (peer, created_at);

-- Files that no row names any more, or not yet: they are removed once that is certain.  The triggers keep it, so that
-- whoever deletes a block or an upload can not forget its file.
CREATE TABLE loose_files (
    hash TEXT PRIMARY KEY NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER blocks_name_a_file AFTER INSERT ON blocks
BEGIN
    DELETE FROM loose_files WHERE hash = new.hash;
END;

CREATE TRIGGER uploads_name_a_file AFTER INSERT ON uploads
BEGIN
    DELETE FROM loose_files WHERE hash = new.hash;
END;

CREATE TRIGGER blocks_let_go AFTER DELETE ON blocks
WHEN NOT EXISTS (SELECT 1 FROM blocks WHERE hash = old.hash)
    AND NOT EXISTS (SELECT 1 FROM uploads WHERE hash = old.hash)
BEGIN
    INSERT OR IGNORE INTO loose_files (hash) VALUES (old.hash);
END;

CREATE TRIGGER uploads_let_go AFTER DELETE ON uploads
WHEN NOT EXISTS (SELECT 1 FROM blocks WHERE hash = old.hash)
    AND NOT EXISTS (SELECT 1 FROM uploads WHERE hash = old.hash)
BEGIN
    INSERT OR IGNORE INTO loose_files (hash) VALUES (old.hash);
END;

CREATE TABLE api_keys (
    hash       TEXT PRIMARY KEY NOT NULL,                -- of the key; the key itself is never stored
    name       TEXT NOT NULL UNIQUE,
    peer       TEXT NOT NULL,
    scopes     TEXT NOT NULL,                            -- JSON: chat, memory, admin
    created_at REAL NOT NULL,
    used_at    REAL
) STRICT;
