"""Small owners of live state, and their assembly."""
