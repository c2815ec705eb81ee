"""The text log: what was said as files, a day each, made from the events and made anew when these are forgotten."""
