"""Wire adapters: one pure file per protocol."""
