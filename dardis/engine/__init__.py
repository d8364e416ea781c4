"""Time: the only readers of a clock, and the ordered queue of events."""
