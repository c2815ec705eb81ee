"""Child processes: spawn in an own session, drain, stop ladder, reap.

Everything that starts a program goes through here, because a plain ``run_process`` leaves grandchildren alive.
"""

from homed.proc.bounded import Completed, run_bounded
from homed.proc.ladder import stop_ladder
from homed.proc.marks import MARK, kill_marked
from homed.proc.reap import become_subreaper, reap_strays
from homed.proc.spawn import Child, Command, Exit, Forker, spawn

__all__ = [
    "MARK", "Child", "Command", "Completed", "Exit", "Forker", "become_subreaper", "kill_marked", "reap_strays",
    "run_bounded", "spawn", "stop_ladder",
]  # fmt: skip
