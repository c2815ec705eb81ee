"""The scenarios, by theme; see ``tests.providers.scenario``."""
