"""A plugin from outside for tests; ``tests.kit.probe`` installs and steers it."""
