"""Sets of questions with their evidence, each made by a generator that is committed beside it."""
