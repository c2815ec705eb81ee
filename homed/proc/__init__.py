"""Child processes: spawn in an own session, drain, stop ladder, reap."""
