"""The Python interface of `dardis`: traces, platforms, runs, comparisons and plans as objects.

Requests pass through the code of the command line, so results and error messages are the same.
"""
