-- Migration 5: the stable layer (entities, records with evidence), vectors, and the work that is done on its own.
-- One table of records: a summary, a fact and a capsule differ in their columns, not in how they are kept and checked.

-- When an event left the window last; 0: never, or by an earlier release.
ALTER TABLE events ADD COLUMN sunk_at REAL NOT NULL DEFAULT 0;
-- Which pass made records of it: '' none yet, else 'model', 'rules' or 'none' (nothing to be made).
ALTER TABLE events ADD COLUMN pass TEXT NOT NULL DEFAULT '' CHECK (pass IN ('', 'model', 'rules', 'none'));
CREATE INDEX events_cooling ON events (sunk_at, seq) WHERE layer = 'cold';
CREATE INDEX events_uncovered ON events (seq) WHERE pass = '' AND no_memory = 0 AND kind = 'user';

-- Names of an event's files, what was said of them and found in them (a caption, the text of a file, recognised text):
-- searched with the event's own text.
ALTER TABLE events ADD COLUMN words TEXT NOT NULL DEFAULT '';
-- What the channel says is in the file.
ALTER TABLE uploads ADD COLUMN caption TEXT NOT NULL DEFAULT '';
-- They leave the index with the text.
DROP TRIGGER words_of_deleted;
DROP TRIGGER words_of_private;
CREATE TRIGGER words_of_deleted AFTER DELETE ON events
WHEN old.no_memory = 0 AND old.kind <> 'note'
    AND old.seq <= (SELECT mark FROM word_marks) AND old.seq > (SELECT backlog FROM word_marks)
BEGIN
    INSERT INTO word_drops VALUES (
        old.seq, old.scope, old.kind, iif(old.words = '', old.text, old.text || char(10) || old.words), old.data
    );
END;
CREATE TRIGGER words_of_private AFTER UPDATE OF no_memory ON events
WHEN old.no_memory = 0 AND new.no_memory = 1 AND old.kind <> 'note'
    AND old.seq <= (SELECT mark FROM word_marks) AND old.seq > (SELECT backlog FROM word_marks)
BEGIN
    INSERT INTO word_drops VALUES (
        old.seq, old.scope, old.kind, iif(old.words = '', old.text, old.text || char(10) || old.words), old.data
    );
END;
-- 'waiting' until its words and its thumbnail were looked for; then 'done', or 'failed' for good.
ALTER TABLE blocks ADD COLUMN seen TEXT NOT NULL DEFAULT 'waiting' CHECK (seen IN ('waiting', 'done', 'failed'));
CREATE INDEX blocks_unseen ON blocks (id) WHERE seen = 'waiting';

CREATE TABLE entities (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE,
    scope      TEXT NOT NULL,
    name       TEXT NOT NULL,                            -- as it is shown
    type       TEXT NOT NULL DEFAULT 'thing',            -- person, place, organisation, project, event, thing
    mentions   INTEGER NOT NULL DEFAULT 1,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL
) STRICT;
CREATE INDEX entities_by_mentions ON entities (scope, mentions DESC, seq);

-- What it is found by: its name and its aliases in normal form.  A name means one entity in a scope.
CREATE TABLE entity_names (
    scope  TEXT NOT NULL,
    key    TEXT NOT NULL,
    name   TEXT NOT NULL,
    entity TEXT NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX entity_names_of ON entity_names (entity);

CREATE TABLE records (
    seq           INTEGER PRIMARY KEY AUTOINCREMENT,
    id            TEXT NOT NULL UNIQUE,
    scope         TEXT NOT NULL,
    record        TEXT NOT NULL CHECK (record IN ('summary', 'fact', 'capsule')),
    kind          TEXT NOT NULL,
    title         TEXT NOT NULL DEFAULT '',
    text          TEXT NOT NULL,
    key           TEXT NOT NULL,                         -- hash of the normal form: two with the same are one
    reach         TEXT NOT NULL DEFAULT 'user' CHECK (reach IN ('user', 'project')),
    project       TEXT NOT NULL DEFAULT '',
    observer      TEXT NOT NULL DEFAULT '',
    observed      TEXT NOT NULL DEFAULT '',
    level         TEXT NOT NULL DEFAULT 'explicit' CHECK (level IN ('explicit', 'deductive', 'inductive', 'contradiction')),
    subject       TEXT REFERENCES entities (id),
    relation      TEXT NOT NULL DEFAULT '',
    object        TEXT NOT NULL DEFAULT '',              -- as words; what it names may be an entity besides
    object_entity TEXT REFERENCES entities (id),
    tags          TEXT NOT NULL DEFAULT '[]',
    importance    INTEGER NOT NULL DEFAULT 5 CHECK (importance BETWEEN 1 AND 10),
    confidence    REAL NOT NULL DEFAULT 0.5 CHECK (confidence BETWEEN 0 AND 1),
    times         INTEGER NOT NULL DEFAULT 1,            -- how often it was derived
    cited         INTEGER NOT NULL DEFAULT 0,
    cited_at      REAL,
    status        TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'superseded', 'archived', 'hidden', 'quarantined')),
    superseded_by TEXT REFERENCES records (id) ON DELETE SET NULL,
    valid_from    REAL,
    valid_until   REAL,
    untrusted     INTEGER NOT NULL DEFAULT 0 CHECK (untrusted IN (0, 1)),
    origin        TEXT NOT NULL CHECK (origin IN ('auto', 'manual', 'import')),
    extractor     TEXT NOT NULL CHECK (extractor IN ('model', 'rules', 'fallback', 'manual')),
    recheck       INTEGER NOT NULL DEFAULT 0 CHECK (recheck IN (0, 1)),  -- some of its evidence is gone
    revision      INTEGER NOT NULL DEFAULT 1,
    created_at    REAL NOT NULL,
    updated_at    REAL NOT NULL
) STRICT;
CREATE INDEX records_by_scope ON records (scope, record, status, seq);
CREATE INDEX records_by_key ON records (scope, key);
CREATE INDEX records_by_subject ON records (subject, status);
CREATE INDEX records_by_object ON records (object_entity, status);
CREATE INDEX records_superseded ON records (superseded_by);
CREATE INDEX records_to_recheck ON records (seq) WHERE recheck = 1;

-- What a record said before: the newest twenty, oldest dropped.
CREATE TABLE revisions (
    record     TEXT NOT NULL REFERENCES records (id) ON DELETE CASCADE,
    revision   INTEGER NOT NULL,
    title      TEXT NOT NULL DEFAULT '',
    text       TEXT NOT NULL,
    importance INTEGER NOT NULL,
    tags       TEXT NOT NULL DEFAULT '[]',
    why        TEXT NOT NULL DEFAULT '',
    at         REAL NOT NULL,
    PRIMARY KEY (record, revision)
) STRICT, WITHOUT ROWID;

-- Where a record comes from.  Without a span it is a pointer only.
CREATE TABLE evidence (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    record  TEXT NOT NULL REFERENCES records (id) ON DELETE CASCADE,
    event   TEXT NOT NULL REFERENCES events (id) ON DELETE CASCADE,
    first   INTEGER,                                     -- characters of the event's text, from 0
    last    INTEGER,                                     -- the one behind the last
    excerpt TEXT NOT NULL DEFAULT '',
    hash    TEXT NOT NULL DEFAULT '',                    -- sha256 of the excerpt, in hex
    at      REAL NOT NULL
) STRICT;
CREATE INDEX evidence_of ON evidence (record);
CREATE UNIQUE INDEX evidence_once ON evidence (event, record, coalesce(first, -1));

-- What a capsule is made of.
CREATE TABLE members (
    capsule TEXT NOT NULL REFERENCES records (id) ON DELETE CASCADE,
    record  TEXT NOT NULL REFERENCES records (id) ON DELETE CASCADE,
    PRIMARY KEY (capsule, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX members_of ON members (record);

-- No record that was made by itself outlives its last evidence, and what has lost some is looked at again.  What it
-- said before may come from what is gone.
CREATE TRIGGER evidence_gone AFTER DELETE ON evidence
BEGIN
    DELETE FROM records WHERE id = old.record AND origin = 'auto'
        AND NOT EXISTS (SELECT 1 FROM evidence WHERE record = old.record);
    UPDATE records SET recheck = 1 WHERE id = old.record;
    DELETE FROM revisions WHERE record = old.record;
END;

-- What turns out to be private afterwards is evidence of nothing any more.
CREATE TRIGGER evidence_private AFTER UPDATE OF no_memory ON events WHEN new.no_memory > old.no_memory
BEGIN
    DELETE FROM evidence WHERE event = old.id;
END;

-- What was forgotten is not made again: a keyed hash of its normal form, or of the event it came from.
CREATE TABLE tombstones (
    scope TEXT NOT NULL,
    hash  TEXT NOT NULL,
    at    REAL NOT NULL,
    PRIMARY KEY (scope, hash)
) STRICT, WITHOUT ROWID;

-- Two entities that may be one.
CREATE TABLE merges (
    scope  TEXT NOT NULL,
    first  TEXT NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    second TEXT NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    score  REAL NOT NULL,
    state  TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'never')),
    rounds INTEGER NOT NULL DEFAULT 0,                   -- never: rounds it stays so
    at     REAL NOT NULL,
    PRIMARY KEY (scope, first, second),
    CHECK (first < second)
) STRICT, WITHOUT ROWID;
CREATE INDEX merges_of_second ON merges (second);

-- The words of records: as word_index, rowid = records.seq.  Title and text; whatever their status.
CREATE VIRTUAL TABLE record_index USING fts5 (
    terms, content='', columnsize=0, detail=none, tokenize="ascii tokenchars '-_.:/@#+%&=~?$*'"
);
INSERT INTO record_index (record_index, rank) VALUES ('secure-delete', 1);
CREATE VIRTUAL TABLE record_terms USING fts5vocab (record_index, 'row');
CREATE TABLE record_counts (
    scope     TEXT PRIMARY KEY NOT NULL,
    documents INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- Records whose words are to be put in anew; `was` is what stands in the index now ('' nothing), and must be taken out.
CREATE TABLE record_todo (
    seq   INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    was   TEXT NOT NULL
) STRICT;
CREATE TRIGGER record_words_new AFTER INSERT ON records
BEGIN
    INSERT OR IGNORE INTO record_todo VALUES (new.seq, new.scope, '');
END;
CREATE TRIGGER record_words_changed AFTER UPDATE OF title, text ON records
WHEN old.title <> new.title OR old.text <> new.text
BEGIN
    INSERT OR IGNORE INTO record_todo VALUES (new.seq, new.scope, old.title || char(10) || old.text);
END;
CREATE TRIGGER record_words_gone AFTER DELETE ON records
BEGIN
    INSERT OR IGNORE INTO record_todo VALUES (old.seq, old.scope, old.title || char(10) || old.text);
END;

-- Vectors of different spaces are never compared.
CREATE TABLE vector_spaces (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    fingerprint TEXT NOT NULL UNIQUE,                    -- of model, version and preparation
    dims        INTEGER NOT NULL,
    at          REAL NOT NULL
) STRICT;
-- Of an event (item: its seq), a block (its event's seq, part: 1000 + its place), a record or an entity (their seq);
-- long texts have several parts.
CREATE TABLE vectors (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,             -- never used twice: what is new is above what was seen
    space INTEGER NOT NULL REFERENCES vector_spaces (id),
    scope TEXT NOT NULL,
    kind  TEXT NOT NULL CHECK (kind IN ('event', 'block', 'record', 'entity')),
    item  INTEGER NOT NULL,
    part  INTEGER NOT NULL DEFAULT 0,
    data  BLOB NOT NULL                                  -- float32, or float16 above 1024 dims; unit length
) STRICT;
CREATE UNIQUE INDEX vectors_of ON vectors (kind, item, space, part);
CREATE INDEX vectors_by_scope ON vectors (space, scope, kind, id);

-- Ids of vectors that were deleted, for the index that has them still; emptied when it was built without them.
CREATE TABLE vector_drops (
    id    INTEGER PRIMARY KEY,
    space INTEGER NOT NULL,
    scope TEXT NOT NULL,
    kind  TEXT NOT NULL
) STRICT;
CREATE TRIGGER vectors_gone AFTER DELETE ON vectors
BEGIN
    INSERT OR IGNORE INTO vector_drops VALUES (old.id, old.space, old.scope, old.kind);
END;

-- What waits for its vector, kept by triggers so that nobody can forget it.
CREATE TABLE vector_todo (
    kind     TEXT NOT NULL,
    item     INTEGER NOT NULL,
    failures INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (kind, item)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER vector_of_event AFTER INSERT ON events
WHEN new.no_memory = 0 AND new.kind <> 'note' AND new.text <> ''
BEGIN
    INSERT OR IGNORE INTO vector_todo (kind, item) VALUES ('event', new.seq);
END;
CREATE TRIGGER vector_of_deleted AFTER DELETE ON events
BEGIN
    DELETE FROM vectors WHERE kind IN ('event', 'block') AND item = old.seq;
    DELETE FROM vector_todo WHERE kind IN ('event', 'block') AND item = old.seq;
END;
CREATE TRIGGER vector_of_words AFTER UPDATE OF words ON events
WHEN new.words <> old.words AND new.no_memory = 0 AND new.kind <> 'note' AND new.layer <> 'archived'
BEGIN
    DELETE FROM vectors WHERE kind = 'event' AND item = old.seq;
    INSERT OR REPLACE INTO vector_todo (kind, item) VALUES ('event', old.seq);  -- failures are of what it was before
END;
-- What is archived is evidence: it is opened by its id, and found by what was made of it.
CREATE TRIGGER vector_of_archived AFTER UPDATE OF layer, no_memory ON events
WHEN (new.layer = 'archived' AND old.layer <> 'archived') OR new.no_memory > old.no_memory
BEGIN
    DELETE FROM vectors WHERE kind IN ('event', 'block') AND item = old.seq;
    DELETE FROM vector_todo WHERE kind IN ('event', 'block') AND item = old.seq;
END;
CREATE TRIGGER vector_of_record AFTER INSERT ON records
BEGIN
    INSERT OR IGNORE INTO vector_todo (kind, item) VALUES ('record', new.seq);
END;
CREATE TRIGGER vector_of_changed AFTER UPDATE OF title, text ON records
WHEN old.title <> new.title OR old.text <> new.text
BEGIN
    DELETE FROM vectors WHERE kind = 'record' AND item = old.seq;
    INSERT OR REPLACE INTO vector_todo (kind, item) VALUES ('record', new.seq);
END;
CREATE TRIGGER vector_of_record_gone AFTER DELETE ON records
BEGIN
    DELETE FROM vectors WHERE kind = 'record' AND item = old.seq;
    DELETE FROM vector_todo WHERE kind = 'record' AND item = old.seq;
END;
CREATE TRIGGER vector_of_entity AFTER INSERT ON entities
BEGIN
    INSERT OR IGNORE INTO vector_todo (kind, item) VALUES ('entity', new.seq);
END;
CREATE TRIGGER vector_of_entity_gone AFTER DELETE ON entities
BEGIN
    DELETE FROM vectors WHERE kind = 'entity' AND item = old.seq;
    DELETE FROM vector_todo WHERE kind = 'entity' AND item = old.seq;
END;

-- Scheduled work.  Due times are of the wall clock; they survive restarts and sleep.
CREATE TABLE jobs (
    name     TEXT PRIMARY KEY NOT NULL,
    due_at   REAL NOT NULL,
    paused   INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
    failures INTEGER NOT NULL DEFAULT 0,                 -- runs in a row
    cursor   TEXT NOT NULL DEFAULT '{}'                  -- JSON: where a run that was cut off goes on
) STRICT, WITHOUT ROWID;
CREATE TABLE job_runs (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    job        TEXT NOT NULL,
    started_at REAL NOT NULL,
    ended_at   REAL,
    state      TEXT NOT NULL CHECK (state IN ('running', 'done', 'failed', 'cut')),
    seen       INTEGER NOT NULL DEFAULT 0,
    made       INTEGER NOT NULL DEFAULT 0,
    drops      TEXT NOT NULL DEFAULT '{}',               -- JSON: gate → how many
    errors     INTEGER NOT NULL DEFAULT 0,
    error      TEXT NOT NULL DEFAULT ''                  -- ids and reasons, never what was remembered
) STRICT;
CREATE INDEX job_runs_of ON job_runs (job, id);
-- Units that failed; after too many times they are left alone.
CREATE TABLE job_units (
    job      TEXT NOT NULL,
    unit     TEXT NOT NULL,
    failures INTEGER NOT NULL,
    held     INTEGER NOT NULL DEFAULT 0 CHECK (held IN (0, 1)),  -- in quarantine
    error    TEXT NOT NULL DEFAULT '',
    at       REAL NOT NULL,
    PRIMARY KEY (job, unit)
) STRICT, WITHOUT ROWID;

-- What a merge of two entities did, so that it can be taken back.  Goes with the entity that stayed.
CREATE TABLE merged (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL,
    kept  TEXT NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    gone  TEXT NOT NULL,                                 -- its id before
    data  TEXT NOT NULL,                                 -- JSON: its row, its names, the ids of the records it had
    at    REAL NOT NULL
) STRICT;
CREATE INDEX merged_into ON merged (kept, id);

-- The key of the hashes in `tombstones`, made once.  It goes into no export: what was forgotten can not be tried out
-- with a copy of them alone.
CREATE TABLE memory_key (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    key BLOB NOT NULL
) STRICT;

-- What somebody wanted forgotten: known before anything is removed, so that a crash keeps nothing of it back.  Once done
-- it stays, so that a backup of before, put back, is made to forget the same.
CREATE TABLE forgets (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    id      TEXT NOT NULL UNIQUE,
    kind    TEXT NOT NULL CHECK (kind IN ('event', 'fact', 'entity', 'peer', 'thread')),
    target  TEXT NOT NULL,                               -- its id; of a peer, once done, a keyed hash of it
    wide    INTEGER NOT NULL DEFAULT 0 CHECK (wide IN (0, 1)),  -- with what it rests on, or what belongs to it
    upto    INTEGER NOT NULL DEFAULT 0,                  -- of a peer: events up to this seq
    at      REAL NOT NULL,
    done_at REAL,
    counts  TEXT NOT NULL DEFAULT '{}'                   -- JSON: what was removed, by table
) STRICT;
CREATE INDEX forgets_waiting ON forgets (seq) WHERE done_at IS NULL;

-- When background work asked a model: there are only so many calls an hour, however often homed is started.
CREATE TABLE job_calls (
    id  INTEGER PRIMARY KEY AUTOINCREMENT,
    job TEXT NOT NULL,
    at  REAL NOT NULL
) STRICT;
