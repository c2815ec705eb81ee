"""The Unix socket that ``waiter`` and the ``homed`` commands talk to."""
