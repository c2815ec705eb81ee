"""Snapshots of a folder before and after a tool worked in it, and the way back.  ``Context.tracked`` is the door.

The kernel keeps the records and touches none of the files; this side looks, tells, and puts back on its word.
"""
