"""What the kits that reproduce papers share: traces and machines, one cache, one page writer, one way to draw."""
