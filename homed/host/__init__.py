"""Plugin processes: launch, supervise, registrations, grants."""
