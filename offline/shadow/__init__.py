"""Days of a cluster beside other schedulers."""
