"""Plans and simulates successive days with real jobs."""
