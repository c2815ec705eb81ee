"""Runs the plugin: ``python -m homed_plugins.settings``."""

from homed import sdk

from .plugin import plugin

if __name__ == "__main__":
    sdk.run(plugin)
