"""Adapters written as Lua scripts, each run in a child process of ours."""
