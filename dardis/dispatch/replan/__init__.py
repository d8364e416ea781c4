"""`replan`: plans waiting jobs anew at each event, and optionally improves the plan."""
