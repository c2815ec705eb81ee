"""What still works when a plugin's event loop does not: threads that see the kernel die and clear up."""

from __future__ import annotations

import os
import select
import threading
import time

from homed.proc.marks import kill_marked

_GRACE = 1.5
"""Seconds that the event loop gets to leave by itself; the process is gone within two."""
_POLL = 1.0
_EXIT_CODE = 70


class Guard:
    """Kills everything that carries this plugin's mark and ends the process, if the event loop does not in time."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._armed = threading.Event()

    def watch_parent(self) -> None:
        """Start the watch over the process that started us; the second line behind the end of stdin."""
        parent = os.getppid()
        threading.Thread(target=self._watch, args=(parent,), name="parent watch", daemon=True).start()

    def arm(self) -> None:
        """Leave within two seconds, whatever hangs.  Calling it again changes nothing."""
        if not self._armed.is_set():
            self._armed.set()
            threading.Thread(target=self._end, name="last resort", daemon=True).start()

    def sweep(self) -> None:
        """Kill what this plugin started and left behind."""
        kill_marked(self._mark)

    def _watch(self, parent: int) -> None:
        wait_for_end(parent)
        self.arm()

    def _end(self) -> None:
        time.sleep(_GRACE)
        self.sweep()
        os._exit(_EXIT_CODE)


def wait_for_end(pid: int) -> None:
    """Block until the parent process ``pid`` has ended."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:  # a kernel or a sandbox without pidfds
        while os.getppid() == pid:
            time.sleep(_POLL)
        return
    try:
        watch = select.poll()
        watch.register(handle, select.POLLIN)
        watch.poll()
    finally:
        os.close(handle)
