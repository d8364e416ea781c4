"""Writes and reads the folder of `dardis plan`."""
