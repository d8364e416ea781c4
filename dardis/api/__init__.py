"""Python interface, with the command line's results and messages."""
