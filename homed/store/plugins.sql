-- What plugins have beside their states: tools only known while they run, wishes to be woken, how they were installed.

CREATE TABLE plugin_tools (
    plugin  TEXT PRIMARY KEY NOT NULL,
    version TEXT NOT NULL,                               -- of the plugin that listed them: another one's are not trusted
    tools   TEXT NOT NULL,                               -- JSON: as a manifest's "tools"
    at      REAL NOT NULL
) STRICT;

CREATE TABLE plugin_schedules (
    plugin TEXT NOT NULL,
    name   TEXT NOT NULL,
    at     REAL NOT NULL,                                -- when it is due next, wall-clock seconds
    every  REAL,                                         -- seconds; null for once
    PRIMARY KEY (plugin, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE plugin_packages (
    plugin       TEXT PRIMARY KEY NOT NULL,
    version      TEXT NOT NULL,
    sha256       TEXT NOT NULL,
    source       TEXT NOT NULL,                          -- a file's name or an address, for people
    installed_at REAL NOT NULL
) STRICT;
