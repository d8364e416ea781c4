"""Days of a real cluster beside the same jobs under other schedulers."""
