"""Built-in tools, one file each, over an operations protocol."""
