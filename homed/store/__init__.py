"""The one SQLite file: a single writer, a pool of readers, migrations.  The only room that imports apsw."""
