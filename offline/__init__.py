"""Day-ahead planning: power-cap profile and node switching from history, weather and prices."""
