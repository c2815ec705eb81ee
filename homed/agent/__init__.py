"""The turn loop: threads, stages, tools, approvals, the prompt."""
