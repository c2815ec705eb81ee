"""What plugin authors import: ``from homed import sdk``.  See ``docs/plugins.md``."""

from homed.errors import ConfigError, HomedError
from homed.sdk import process
from homed.sdk.client import Context, Kernel, Notice
from homed.sdk.entry import run
from homed.sdk.plugin import Plugin, ToolError

__all__ = ["ConfigError", "Context", "HomedError", "Kernel", "Notice", "Plugin", "ToolError", "process", "run"]
