"""Plugins that people bring, managed in a conversation."""
