"""What could have been done had all jobs been known: a bound that no schedule undercuts, and a good schedule."""
