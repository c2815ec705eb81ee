"""Finding what was said: words, their index, and the ranker over it."""
