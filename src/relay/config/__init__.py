"""Settings, keys and themes as plain data."""
