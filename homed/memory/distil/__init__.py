"""What facts are made from: rules without a model, and the shape of what a model answers.  Pure but for ``sources``."""
