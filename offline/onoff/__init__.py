"""Shutdown and boot times of nodes, as pure functions."""
