"""The configuration registry in the database."""
