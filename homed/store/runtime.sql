-- The runtime: what a model call cost, turns that were interrupted, agents of agents, snapshots of settings, tracked
-- folders.  Each room keeps its tables below its own heading.

-- ---- spend (homed/spend): what model calls took, in tokens and money.  Ids and numbers, no texts.  -------------------

-- One call: reserved before it is made, settled when it is over.  ``open`` ones of a process that is gone count as
-- spent, as they were reserved.  Kept for a while (core.spend.keep_days).
CREATE TABLE spend_calls (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    at         REAL NOT NULL,
    day        TEXT NOT NULL,                            -- YYYY-MM-DD where the person lives
    kind       TEXT NOT NULL CHECK (kind IN ('turn', 'background', 'plugin', 'child')),
    who        TEXT NOT NULL DEFAULT '',                 -- the plugin or job that asked
    turn       TEXT NOT NULL DEFAULT '',
    thread     TEXT NOT NULL DEFAULT '',
    peer       TEXT NOT NULL DEFAULT '',
    source     TEXT NOT NULL,
    model      TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('open', 'done', 'lost')),
    prompt     INTEGER NOT NULL,                         -- tokens; ``cached`` ones are among them
    cached     INTEGER NOT NULL DEFAULT 0,
    completion INTEGER NOT NULL,
    estimated  INTEGER NOT NULL CHECK (estimated IN (0, 1)), -- 1: our count, not the source's
    price      TEXT NOT NULL CHECK (price IN ('known', 'unknown', 'free')),
    currency   TEXT NOT NULL DEFAULT '',
    nanos      INTEGER NOT NULL DEFAULT 0                -- money, in thousand-millionths of the currency
) STRICT;
CREATE INDEX spend_calls_by_day ON spend_calls (day);
CREATE INDEX spend_calls_by_turn ON spend_calls (turn) WHERE turn <> '';
CREATE INDEX spend_calls_by_thread ON spend_calls (thread) WHERE thread <> '';
CREATE INDEX spend_calls_open ON spend_calls (day) WHERE state = 'open';

-- The calls that are over, summed up: what limits go by, and what is left when the calls themselves are deleted.
CREATE TABLE spend_days (
    day        TEXT NOT NULL,
    kind       TEXT NOT NULL,
    source     TEXT NOT NULL,
    model      TEXT NOT NULL,
    price      TEXT NOT NULL,
    currency   TEXT NOT NULL,
    calls      INTEGER NOT NULL,
    prompt     INTEGER NOT NULL,
    cached     INTEGER NOT NULL,
    completion INTEGER NOT NULL,
    estimated  INTEGER NOT NULL,                         -- tokens that are our count
    nanos      INTEGER NOT NULL,
    PRIMARY KEY (day, kind, source, model, price, currency)
) STRICT, WITHOUT ROWID;

-- How often the person said that a day may go on past its limit: each time by as much again.
CREATE TABLE spend_allowed (
    day   TEXT PRIMARY KEY NOT NULL,
    times INTEGER NOT NULL
) STRICT;

-- What was spent stays in the sums; in which conversation it was goes with the conversation.
CREATE TRIGGER spend_forgets_threads AFTER DELETE ON threads BEGIN
    UPDATE spend_calls SET thread = '', turn = '', peer = '' WHERE thread = old.id AND thread <> '';
END;

-- ---- settings (homed/settings): what the settings of the models were before each change, the newest 20.  -------------

-- No key is in here: ``keys`` holds a keyed digest of each, by which a roll back tells whose it still is.
CREATE TABLE llm_snapshots (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    at       REAL NOT NULL,
    changed  TEXT NOT NULL,                              -- JSON: the keys that were then changed
    settings TEXT NOT NULL,                              -- JSON: what was stored below core.llm.
    keys     TEXT NOT NULL                               -- JSON: source → digest of its key
) STRICT;

-- ---- interrupts (homed/agent/schedule.py): how urgent an input is, and which part of the kernel raised it.  ----------

ALTER TABLE inputs ADD COLUMN level INTEGER NOT NULL DEFAULT 0 CHECK (level BETWEEN 0 AND 4); -- 0: it waits its turn
ALTER TABLE inputs ADD COLUMN mark TEXT NOT NULL DEFAULT '';
-- Several inputs may have one turn: those that were put into it while it ran.
CREATE INDEX inputs_by_turn ON inputs (turn) WHERE turn <> '';

-- ---- projects (homed/memory/projects.py): the key of the folder that an input's sender works in.  --------------------

ALTER TABLE inputs ADD COLUMN project TEXT NOT NULL DEFAULT '';

-- ---- what a source wants back byte for byte with its message (homed/agent/sealed.py): for its own prompts alone. -----

ALTER TABLE events ADD COLUMN opaque TEXT NOT NULL DEFAULT '';

-- ---- agents that agents make (homed/memory/children.py), each with a conversation, a window and a memory of its own. -

CREATE TABLE children (
    id           TEXT PRIMARY KEY NOT NULL,
    kind         TEXT NOT NULL CHECK (kind IN ('once', 'resident')),
    name         TEXT NOT NULL,
    brief        TEXT NOT NULL,                          -- what it is for, as whoever made it says
    scope        TEXT NOT NULL UNIQUE,
    thread       TEXT NOT NULL UNIQUE,                   -- its own conversation, of its own scope
    parent       TEXT NOT NULL,                          -- the conversation it was made in
    parent_scope TEXT NOT NULL,
    root_scope   TEXT NOT NULL,                          -- of the person at the top
    depth        INTEGER NOT NULL,                       -- 1: made in a person's conversation
    peer         TEXT NOT NULL,                          -- on whose behalf it works, and what they may
    role         TEXT NOT NULL,
    channel      TEXT NOT NULL,
    untrusted    INTEGER NOT NULL CHECK (untrusted IN (0, 1)),  -- words of strangers were in view when it was made
    no_memory    INTEGER NOT NULL CHECK (no_memory IN (0, 1)),
    can_ask      INTEGER NOT NULL CHECK (can_ask IN (0, 1)),
    rounds       INTEGER NOT NULL,                       -- of tool calls in one of its turns
    may          TEXT NOT NULL,                          -- JSON: {tools, outputs: null or names; inputs; behalf}
    created_at   REAL NOT NULL
) STRICT;
CREATE INDEX children_of ON children (parent);

-- What it was given to do, by whom.  ``told``: what came of it reached whoever gave it.
CREATE TABLE child_tasks (
    id          TEXT PRIMARY KEY NOT NULL,
    child       TEXT NOT NULL REFERENCES children (id) ON DELETE CASCADE,
    thread      TEXT NOT NULL,
    turn        TEXT NOT NULL,
    scope       TEXT NOT NULL,
    front       TEXT NOT NULL,                           -- the conversation where a person sees it, in which turn of
    front_turn  TEXT NOT NULL,                           -- it, of which scope
    front_scope TEXT NOT NULL,
    told        INTEGER NOT NULL DEFAULT 0 CHECK (told IN (0, 1)),
    created_at  REAL NOT NULL
) STRICT;
CREATE INDEX child_tasks_of ON child_tasks (child);
CREATE INDEX child_tasks_before ON child_tasks (front, front_turn);

-- It goes with its conversation, and its memory with it.
CREATE TRIGGER children_go AFTER DELETE ON threads BEGIN
    DELETE FROM children WHERE thread = old.id;
END;
CREATE TRIGGER children_forget AFTER DELETE ON children BEGIN
    DELETE FROM records WHERE scope = old.scope;
    DELETE FROM entities WHERE scope = old.scope;
    DELETE FROM tombstones WHERE scope = old.scope;
    DELETE FROM merges WHERE scope = old.scope;
    DELETE FROM merged WHERE scope = old.scope;
END;

-- ---- changes of folders (homed/tracker): what tools changed in people's folders, and what was there before.  ---------

-- One tool call's changes, or one roll back's.  ``open`` while its plugin works on it; ``untracked``: ``note`` says why
-- nothing could be noted.
CREATE TABLE tracker_sets (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    id       TEXT NOT NULL UNIQUE,
    at       REAL NOT NULL,
    ended_at REAL,
    state    TEXT NOT NULL CHECK (state IN ('open', 'done', 'untracked')),
    plugin   TEXT NOT NULL,                              -- who made it, and puts it back
    tool     TEXT NOT NULL DEFAULT '',
    call     TEXT NOT NULL DEFAULT '',
    turn     TEXT NOT NULL DEFAULT '',
    thread   TEXT NOT NULL DEFAULT '',
    scope    TEXT NOT NULL DEFAULT '',
    peer     TEXT NOT NULL DEFAULT '',
    folder   BLOB NOT NULL,                              -- its absolute path, as bytes
    undoes   TEXT NOT NULL DEFAULT '',                   -- of a roll back: what it puts back
    forced   INTEGER NOT NULL DEFAULT 0 CHECK (forced IN (0, 1)),
    cut      INTEGER NOT NULL DEFAULT 0 CHECK (cut IN (0, 1)), -- the plugin ended before it could tell: told later
    note     TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX tracker_sets_by_turn ON tracker_sets (turn) WHERE turn <> '';
CREATE INDEX tracker_sets_by_thread ON tracker_sets (thread) WHERE thread <> '';
CREATE INDEX tracker_sets_open ON tracker_sets (state) WHERE state = 'open';

CREATE TABLE tracker_files (
    seq         INTEGER NOT NULL,                        -- of the set
    number      INTEGER NOT NULL,                        -- within it, by path
    path        BLOB NOT NULL,                           -- below the folder
    before      TEXT NOT NULL DEFAULT '',                -- JSON: what was there; empty for nothing
    after       TEXT NOT NULL DEFAULT '',
    before_hash TEXT NOT NULL DEFAULT '',
    after_hash  TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (seq, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX tracker_files_before ON tracker_files (before_hash) WHERE before_hash <> '';
CREATE INDEX tracker_files_after ON tracker_files (after_hash) WHERE after_hash <> '';

-- Contents that are kept, in DATA/tracker.
CREATE TABLE tracker_blobs (
    hash   TEXT PRIMARY KEY NOT NULL,
    size   INTEGER NOT NULL,
    stored INTEGER NOT NULL                              -- bytes on disk
) STRICT, WITHOUT ROWID;

CREATE TRIGGER tracker_files_go AFTER DELETE ON tracker_sets BEGIN
    DELETE FROM tracker_files WHERE seq = old.seq;
END;
-- What a call did goes with the record of the call, and with the conversation; the files themselves stay as they are.
CREATE TRIGGER tracker_forgets_calls AFTER DELETE ON events WHEN old.kind = 'tool' BEGIN
    DELETE FROM tracker_sets WHERE turn = old.turn AND turn <> '' AND call = coalesce(old.data ->> 'call_id', '');
END;
CREATE TRIGGER tracker_forgets_threads AFTER DELETE ON threads BEGIN
    DELETE FROM tracker_sets WHERE thread = old.id AND thread <> '';
END;

-- ---- conversations known by what was said in them (homed/memory/chains.py), for programs that send all of it again. --

-- Keyed hashes, made by the channel: nobody without its key can try texts.
CREATE TABLE input_chains (
    input TEXT PRIMARY KEY NOT NULL REFERENCES inputs (id) ON DELETE CASCADE,
    chain TEXT NOT NULL,                                 -- of the person's messages up to this one
    said  TEXT NOT NULL                                  -- of this one alone
) STRICT, WITHOUT ROWID;
CREATE INDEX input_chains_by_chain ON input_chains (chain);
CREATE INDEX input_chains_by_said ON input_chains (said);

-- ---- tools on demand (homed/agent/offering.py): which tools a conversation, and its person's others, used. ------------

CREATE INDEX events_of_tools ON events (thread, seq) WHERE kind = 'tool';
CREATE INDEX events_of_tools_by_scope ON events (scope, seq) WHERE kind = 'tool';
