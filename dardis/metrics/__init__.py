"""Numbers from schedules, and whether a schedule is legal."""
