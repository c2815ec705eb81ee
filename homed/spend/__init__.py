"""Tokens and money of model calls: limits that hold before a call is made, and a record of what was spent."""
