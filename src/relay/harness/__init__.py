"""Harness rules over the hooks of the agent."""
