"""The built-in plugins, each a folder and a process of its own (installed as ``homed_plugins``)."""
