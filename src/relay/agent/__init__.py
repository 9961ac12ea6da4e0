"""The agent loop: messages, events, tools and hooks."""
