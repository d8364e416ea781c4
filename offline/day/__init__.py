"""Plans a day and writes the plan folder."""
