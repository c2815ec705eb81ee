-- Migration 2: the window and the cold layer of each scope, the word index, and the record of what prompts were given.

-- What an event costs in a prompt, counted once when it is stored; 0: not counted yet (stored by an earlier release).
ALTER TABLE events ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;
-- Where an event in the window came from: '' as it happened, 'cold_storage' once it was recalled.
ALTER TABLE events ADD COLUMN source TEXT NOT NULL DEFAULT '';

-- The text of an answer is what went out, so that nothing can show or find what was taken out of it.  An earlier release
-- kept what was written there and what went out in a note behind it, and an answer that waited for its check as one.
CREATE TABLE answers_sent AS
    SELECT n.seq AS note, a.seq AS answer, n.text AS sent, a.text AS written
    FROM events n JOIN events a ON a.turn = n.turn AND a.kind = 'assistant' AND a.data ->> 'final'
    WHERE n.kind = 'note' AND n.data ->> 'code' = 'sent';
UPDATE events SET text = s.sent FROM answers_sent s WHERE s.answer = events.seq;
UPDATE events SET text = s.written, data = json_set(data, '$.code', 'draft'), no_memory = 1, layer = 'archived'
    FROM answers_sent s WHERE s.note = events.seq;
DROP TABLE answers_sent;
UPDATE events SET kind = 'note', data = json_set(data, '$.code', 'draft'), no_memory = 1
    WHERE kind = 'assistant' AND data ->> 'final' AND turn IN (SELECT id FROM turns WHERE ended_at IS NULL);

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

-- A window's events and tokens are counted, and a hit's layer is looked up, without reading the texts.
DROP INDEX events_by_scope;
CREATE INDEX events_by_layer ON events (scope, layer, seq, no_memory, tokens);

-- The words of events, rowid = events.seq.  Terms come made (stems, pairs of Chinese characters, exact symbols), each
-- with its scope before it, so that a scope's words can be found from no other.  Without content: the text is in
-- `events`.  Which event has a term is all that is kept of it.
CREATE VIRTUAL TABLE word_index USING fts5 (
    terms, content='', columnsize=0, detail=none, tokenize="ascii tokenchars '-_.:/@#+%&=~?$*'"
);
INSERT INTO word_index (word_index, rank) VALUES ('secure-delete', 1);
CREATE VIRTUAL TABLE word_terms USING fts5vocab (word_index, 'row');

-- Indexed are the events above backlog and up to mark.  What an earlier release stored is below, and is done bit by bit.
CREATE TABLE word_marks (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    mark    INTEGER NOT NULL,
    backlog INTEGER NOT NULL,
    version INTEGER NOT NULL,                            -- of the terms
    untidy  INTEGER NOT NULL DEFAULT 0                   -- 1: words are marked as gone; 2: they are being merged away
) STRICT;
INSERT INTO word_marks (one, mark, backlog, version) SELECT 1, coalesce(max(seq), 0), coalesce(max(seq), 0), 1 FROM events;

CREATE TABLE word_counts (
    scope     TEXT PRIMARY KEY NOT NULL,
    documents INTEGER NOT NULL                           -- events of it in the index
) STRICT, WITHOUT ROWID;

-- Events whose words must leave the index; with what they were made from, since the event itself may be gone.
CREATE TABLE word_drops (
    seq   INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    kind  TEXT NOT NULL,
    text  TEXT NOT NULL,
    data  TEXT NOT NULL
) STRICT;
CREATE TRIGGER words_of_deleted AFTER DELETE ON events
WHEN old.no_memory = 0 AND old.kind <> 'note'
    AND old.seq <= (SELECT mark FROM word_marks) AND old.seq > (SELECT backlog FROM word_marks)
BEGIN
    INSERT INTO word_drops VALUES (old.seq, old.scope, old.kind, old.text, old.data);
END;
CREATE TRIGGER words_of_private AFTER UPDATE OF no_memory ON events
WHEN old.no_memory = 0 AND new.no_memory = 1 AND old.kind <> 'note'
    AND old.seq <= (SELECT mark FROM word_marks) AND old.seq > (SELECT backlog FROM word_marks)
BEGIN
    INSERT INTO word_drops VALUES (old.seq, old.scope, old.kind, old.text, old.data);
END;
