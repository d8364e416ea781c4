"""Runs of several dispatchers side by side: which there are, what an earlier comparison has left, the processes."""
