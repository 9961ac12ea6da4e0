"""The append-only session log and what is read from it."""
