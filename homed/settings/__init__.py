"""The configuration registry in the database."""

from homed.settings.registry import Settings, open_settings
from homed.settings.views import Applied, SettingView

__all__ = ["Applied", "SettingView", "Settings", "open_settings"]
