-- Migration 2: the window and the cold layer of each scope, the word index, and the record of what prompts were given.

-- What an event costs in a prompt, counted once when it is stored; 0: not counted yet (stored by an earlier release).
ALTER TABLE events ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;
-- Where an event in the window came from: '' as it happened, 'cold_storage' once it was recalled.
ALTER TABLE events ADD COLUMN source TEXT NOT NULL DEFAULT '';

-- A block's holder is the layer its event is in.  One statement moves both, so it cannot be forgotten anywhere.
CREATE TRIGGER blocks_follow AFTER UPDATE OF layer ON events
BEGIN
    UPDATE blocks SET holder_layer = CASE new.layer WHEN 'archived' THEN 'stable' ELSE new.layer END
    WHERE event = new.id;
END;

-- A turn looked at a cold event.  Pending until the turn is answered; then the event moves back into the window.
CREATE TABLE accesses (
    turn  TEXT NOT NULL,
    event TEXT NOT NULL REFERENCES events (id),
    at    REAL NOT NULL,
    PRIMARY KEY (turn, event)
) STRICT, WITHOUT ROWID;
CREATE INDEX accesses_by_event ON accesses (event, at);

-- What a turn was shown and why: ids, scores and counts, never text.
CREATE TABLE ledger (
    seq    INTEGER PRIMARY KEY AUTOINCREMENT,
    turn   TEXT NOT NULL,
    scope  TEXT NOT NULL,
    thread TEXT NOT NULL,
    kind   TEXT NOT NULL CHECK (kind IN ('select', 'recall', 'guard', 'peek', 'confirm', 'sink')),
    at     REAL NOT NULL,
    data   TEXT NOT NULL                                 -- JSON
) STRICT;
CREATE INDEX ledger_by_turn ON ledger (turn, seq);
CREATE INDEX ledger_by_thread ON ledger (thread, seq);
