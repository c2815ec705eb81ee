"""The configuration registry in the database."""

from homed.settings.registry import Applied, Settings, SettingView, open_settings

__all__ = ["Applied", "SettingView", "Settings", "open_settings"]
