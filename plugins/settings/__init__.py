"""The settings of homed and its plugins, seen and changed in a conversation."""
