"""Timers: once or again and again, in the time zone they were made for."""
