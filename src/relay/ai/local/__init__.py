"""Models that run on this machine, in a child process of Relay's."""
