"""Read, write, edit, list and search files below the folders the person allowed."""
