"""Day-ahead planning of power caps and node switching."""
