"""Clock and event queue."""
