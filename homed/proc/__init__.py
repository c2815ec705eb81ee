"""Child processes: spawn in an own session, drain, stop ladder, reap.

Everything that starts a program goes through here, because a plain ``run_process`` leaves grandchildren alive.  This
module imports none of its parts: the zygote is started before Trio is loaded.
"""
