"""Planning ahead: from history, weather and prices to tomorrow's power-cap profile and node switching."""
