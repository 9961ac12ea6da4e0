"""Built-in extensions on the extension API."""
