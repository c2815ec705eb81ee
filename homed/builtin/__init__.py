"""The kernel's own tools."""

from homed.builtin.tools import builtin_tools

__all__ = ["builtin_tools"]
