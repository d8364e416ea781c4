"""Shutdown and boot times of nodes, as pure functions of schedules and demand."""
