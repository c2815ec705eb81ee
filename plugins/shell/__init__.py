"""Run a shell command and report what it did."""
