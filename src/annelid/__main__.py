"""Lets `python -m annelid` do what the `annelid` command does."""

from annelid.cli import main

if __name__ == "__main__":
    main()
