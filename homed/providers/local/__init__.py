"""Models that run on this machine, each in a child process of ours that listens nowhere."""
