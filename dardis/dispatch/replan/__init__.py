"""`replan`: a plan of those who wait, made anew whenever something has happened, and improved on demand."""
