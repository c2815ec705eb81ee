"""The console, on a real store."""
