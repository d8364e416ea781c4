"""What asking a sample of the nodes first costs in waits and slowdowns, and saves in messages, on real traces."""
