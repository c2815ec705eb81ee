"""What was said and done: events, threads, inputs, and the plans over them.  No model, no ranker in here."""
