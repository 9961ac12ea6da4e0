"""The extension API and its loader."""
