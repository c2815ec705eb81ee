"""Sequences of tool calls: written once, checked at once, run as often as wanted."""
