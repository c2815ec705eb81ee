"""The health check of memory: every check reads what it speaks of, says what to do, and mends what is safe to mend.

Loaded when somebody asks for it: `ondemand` alone is imported at a start.
"""
