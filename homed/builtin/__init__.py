"""The kernel's own tools."""

from homed.builtin.tools import RESERVED, builtin_tools

__all__ = ["RESERVED", "builtin_tools"]
