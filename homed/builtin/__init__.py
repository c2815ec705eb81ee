"""The kernel's own tools."""
