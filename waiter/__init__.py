"""The terminal client of homed."""
