-- What plugins have beside their states: tools only known while they run, wishes to be woken, how they were installed.
-- And how the owner calls a peer: goes before the name that the channel gives.

ALTER TABLE peers ADD COLUMN called TEXT NOT NULL DEFAULT '';

CREATE TABLE plugin_tools (
    plugin  TEXT PRIMARY KEY NOT NULL,
    version TEXT NOT NULL,                               -- of the plugin that listed them: another one's are not trusted
    tools   TEXT NOT NULL,                               -- JSON: as a manifest's "tools"
    at      REAL NOT NULL
) STRICT;

CREATE TABLE plugin_schedules (
    plugin TEXT NOT NULL,
    name   TEXT NOT NULL,
    at     REAL,                                         -- when it is due next, wall-clock seconds; null: switched off
    every  REAL,                                         -- seconds; null for once
    own    INTEGER NOT NULL,                             -- 1: the plugin set it so; 0: as its manifest says
    PRIMARY KEY (plugin, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE plugin_packages (
    plugin       TEXT PRIMARY KEY NOT NULL,
    version      TEXT NOT NULL,
    sha256       TEXT NOT NULL,
    source       TEXT NOT NULL,                          -- a file's name or an address, for people
    installed_at REAL NOT NULL
) STRICT;
