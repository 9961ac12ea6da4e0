"""Credentials: where a key comes from and how it is stored."""
