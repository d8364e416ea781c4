"""Lower bound and good schedule with all jobs known."""
