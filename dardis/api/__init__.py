"""The Python interface of `dardis`, with the command line's results and messages."""
