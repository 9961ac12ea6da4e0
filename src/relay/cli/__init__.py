"""Argument parsing, subcommands, and errors to exit codes."""
