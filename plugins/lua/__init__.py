"""Plugins written in Lua: the runner of a folder with a ``main.lua``, and a tool that checks such a file."""
