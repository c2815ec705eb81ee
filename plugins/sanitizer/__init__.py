"""Takes personal data and listed words out of what is said, before it is stored, acted on or shown."""
