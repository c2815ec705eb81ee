"""The subcommands of homed, thin: each reaches a running daemon or works on the data folder."""
