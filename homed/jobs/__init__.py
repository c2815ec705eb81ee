"""Jobs that combine rooms."""
