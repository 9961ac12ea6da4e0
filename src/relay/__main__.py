"""`python -m relay` is the `relay` command."""

from relay.cli.main import entry

if __name__ == "__main__":
    entry()
