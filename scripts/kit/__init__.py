"""What the kits that reproduce the thesis share: its trace and machine, one cache, one page writer, one way to draw."""
