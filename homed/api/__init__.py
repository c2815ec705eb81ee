"""The kernel's methods for plugins, one module a capability group; thin handlers, no logic."""
