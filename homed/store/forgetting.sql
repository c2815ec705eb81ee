-- Migration 8: what a wish to forget still has to remove, and what it removed (homed/memory/forget_todo.py).

-- Stored with the wish, before the first row goes: most of it is found by rows that go themselves.  An item goes with the
-- rows it stands for, in the same transaction; none is left of a wish that is done.  Ids; and of names that are looked
-- for in files afterwards the names, until the rows are gone.
CREATE TABLE forget_todo (
    seq     INTEGER PRIMARY KEY,
    request TEXT NOT NULL REFERENCES forgets (id) ON DELETE CASCADE,
    -- cut: a record whose repeats are still to be found; repeat, record, event, thread: to be removed; scan: a scope whose
    -- messages are still to be looked through for the names
    what    TEXT NOT NULL CHECK (what IN ('cut', 'scan', 'repeat', 'record', 'event', 'thread', 'name')),
    item    TEXT NOT NULL,
    UNIQUE (request, what, item)
) STRICT;
CREATE INDEX forget_todo_next ON forget_todo (request, what, seq);

-- What wishes removed by id, also those that are done: a backup of before, put back, may know what a wish took and not
-- what it was about (a message, and not the fact that was made of it later).  Ids alone.  Of a peer and a conversation
-- nothing: these are found by the wish itself.
CREATE TABLE forget_took (
    request TEXT NOT NULL REFERENCES forgets (id) ON DELETE CASCADE,
    what    TEXT NOT NULL CHECK (what IN ('record', 'event', 'thread')),
    item    TEXT NOT NULL,
    PRIMARY KEY (request, what, item)
) STRICT, WITHOUT ROWID;
