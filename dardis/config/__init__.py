"""Files and options as models: a mistake in one becomes a single clear line with file, place and expectation."""
