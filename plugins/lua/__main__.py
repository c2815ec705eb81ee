"""``python -m homed_plugins.lua`` is the plugin lua; with a folder behind it, the plugin written in Lua there."""

from .entry import main

if __name__ == "__main__":
    main()
