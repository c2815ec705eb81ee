-- Migration 7: memory that can be checked: the pass that is owed to each turn, what was told before each turn, what
-- answers cited, and why thresholds were changed.  Each room keeps its tables below its own heading.

-- ---- passes (homed/memory/passes.py): turns that are over and of which nothing has been made yet.  ------------------

-- Written with the end of the turn, by a trigger, so that no path can forget it; it goes when the pass is stored.
CREATE TABLE passes (
    turn   TEXT PRIMARY KEY NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    thread TEXT NOT NULL,
    at     REAL NOT NULL,                                -- when the turn ended
    -- 1: recorded without a model, which is still to read it
    told   INTEGER NOT NULL DEFAULT 0 CHECK (told IN (0, 1))
) STRICT, WITHOUT ROWID;
CREATE INDEX passes_by_age ON passes (at, turn);
CREATE TRIGGER pass_owed AFTER UPDATE OF ended_at ON turns WHEN old.ended_at IS NULL AND new.ended_at IS NOT NULL
BEGIN
    INSERT OR IGNORE INTO passes (turn, thread, at) VALUES (new.id, new.thread, new.ended_at);
END;

-- How much was stopped at which gate, since the beginning: `job_runs` knows of single runs, and these go.
CREATE TABLE gates (
    scope TEXT NOT NULL,
    gate  TEXT NOT NULL,
    count INTEGER NOT NULL,
    at    REAL NOT NULL,                                 -- the last time
    PRIMARY KEY (scope, gate)
) STRICT, WITHOUT ROWID;

-- ---- the ledger of injections (homed/memory/injections.py): what was told before a turn.  Ids, scores, no text. ------

-- The question is the turn's input; it is read from there, so that it is forgotten with it.
CREATE TABLE injections (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    turn     TEXT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    scope    TEXT NOT NULL,
    thread   TEXT NOT NULL,
    at       REAL NOT NULL,
    mode     TEXT NOT NULL CHECK (mode IN ('hit', 'background', 'snapshot')),
    chars    INTEGER NOT NULL,                           -- of all that was put in, with its headers
    ms       REAL NOT NULL,                              -- that finding it took
    late     TEXT NOT NULL DEFAULT '[]',                 -- JSON: sources that came too late or failed
    below    INTEGER NOT NULL DEFAULT 0,                 -- found, but below the gate
    cut      INTEGER NOT NULL DEFAULT 0,                 -- lines that had no room
    channels TEXT NOT NULL DEFAULT '{}'                  -- JSON: channel of the ranker → records it found
) STRICT;
CREATE INDEX injections_of_turn ON injections (turn);
CREATE INDEX injections_by_scope ON injections (scope, seq);
CREATE INDEX injections_by_thread ON injections (thread, seq);
CREATE INDEX injections_by_age ON injections (at);

-- One line each.  The id stays when the record goes: it is shown as deleted then.
CREATE TABLE injected (
    injection INTEGER NOT NULL REFERENCES injections (seq) ON DELETE CASCADE,
    place     INTEGER NOT NULL,                          -- in the order they stood
    id        TEXT NOT NULL,                             -- of a record, or of an event
    record    TEXT NOT NULL CHECK (record IN ('summary', 'fact', 'capsule', 'event')),
    revision  INTEGER NOT NULL DEFAULT 0,
    band      TEXT NOT NULL CHECK (band IN ('immediate', 'working', 'background')),
    why       TEXT NOT NULL DEFAULT '',                  -- hit, active, graph, capsule, latest, cold
    score     REAL NOT NULL DEFAULT 0,
    relevance REAL NOT NULL DEFAULT 0,                   -- of the gate: 0..1
    evidence  TEXT NOT NULL DEFAULT '',                  -- the mark it was shown with: manual, source, pointer, ''
    chars     INTEGER NOT NULL,
    shortened INTEGER NOT NULL DEFAULT 0 CHECK (shortened IN (0, 1)),
    PRIMARY KEY (injection, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX injected_of ON injected (id, injection);
-- The Active Window: what matters most, whatever is asked.
CREATE INDEX records_by_weight ON records (scope, status, importance, cited, updated_at);

-- An answer named the record by its id; once a turn.
CREATE TABLE citations (
    record TEXT NOT NULL REFERENCES records (id) ON DELETE CASCADE,
    turn   TEXT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    at     REAL NOT NULL,
    PRIMARY KEY (record, turn)
) STRICT, WITHOUT ROWID;
CREATE INDEX citations_of_turn ON citations (turn);

-- ---- thresholds (homed/settings): each prevents a failure, and whoever moves one says why.  --------------------------

CREATE TABLE threshold_changes (
    seq    INTEGER PRIMARY KEY AUTOINCREMENT,
    key    TEXT NOT NULL,
    was    TEXT NOT NULL,                                -- JSON
    now    TEXT NOT NULL,
    reason TEXT NOT NULL,
    peer   TEXT NOT NULL DEFAULT '',
    at     REAL NOT NULL
) STRICT;
CREATE INDEX threshold_changes_of ON threshold_changes (key, seq);

-- ---- records changed by people (homed/memory/mutate.py).  --------------------------------------------------------------

-- Evidence of what a record said before a person changed its words, and up to which revision; 0: of what it says now.
ALTER TABLE evidence ADD COLUMN upto INTEGER NOT NULL DEFAULT 0;

-- ---- the doctor of memory (homed/jobs/memcheck).  ----------------------------------------------------------------------

-- Ids that the ledger of injections names and that were deleted since, rightly: any other that is not there is a fault.
CREATE TABLE injected_gone (
    id TEXT PRIMARY KEY NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER injected_record_gone AFTER DELETE ON records WHEN EXISTS (SELECT 1 FROM injected WHERE id = old.id)
BEGIN
    INSERT OR IGNORE INTO injected_gone VALUES (old.id);
END;
CREATE TRIGGER injected_event_gone AFTER DELETE ON events WHEN EXISTS (SELECT 1 FROM injected WHERE id = old.id)
BEGIN
    INSERT OR IGNORE INTO injected_gone VALUES (old.id);
END;
CREATE TRIGGER injected_let_go AFTER DELETE ON injected
BEGIN
    DELETE FROM injected_gone WHERE id = old.id AND NOT EXISTS (SELECT 1 FROM injected WHERE id = old.id);
END;

-- ---- bounds of memory (homed/memory/bounds.py): the settings' own, where every transaction can see them. ------------

CREATE TABLE bounds (
    name  TEXT PRIMARY KEY NOT NULL,                     -- excerpt (characters), summary, fact, capsule (of a scope)
    value INTEGER NOT NULL CHECK (value >= 1)
) STRICT, WITHOUT ROWID;
