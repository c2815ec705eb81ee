"""Texts the model reads, as Markdown files, and their loader."""
