"""Model sources: the port, its adapters and the rules of retry and fallback."""
