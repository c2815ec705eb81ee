"""What plugin authors import: ``from homed import sdk``.  See ``docs/plugins.md``."""

from homed.errors import ConfigError, HomedError
from homed.sdk import process
from homed.sdk.client import Context, Due, Kernel, Notice
from homed.sdk.entry import run
from homed.sdk.files import File, WithFiles
from homed.sdk.plugin import Plugin, ToolError

__all__ = [
    "ConfigError", "Context", "Due", "File", "HomedError", "Kernel", "Notice", "Plugin", "ToolError", "WithFiles",
    "process", "run",
]  # fmt: skip
