"""Which nodes are shut down and turned on, and when; pure functions of schedules and demand."""
