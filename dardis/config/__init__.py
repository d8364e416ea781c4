"""Files that people hand us: platform and desired profile. A mistake in one becomes a single clear line."""
