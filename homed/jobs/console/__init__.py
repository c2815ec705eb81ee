"""The memory console: what a person sees of memory and changes of it by hand.  Loaded when it is looked at."""
