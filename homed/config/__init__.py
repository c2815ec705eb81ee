"""Settings' definitions; the only reader of the environment and of homed.toml; secrets."""
