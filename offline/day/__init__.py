"""Plans a day from the knowledge at its beginning, and writes the plan folder."""
