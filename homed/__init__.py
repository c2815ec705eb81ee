"""homed: an agent kernel that remembers.  Importing this package has no effects."""
