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
