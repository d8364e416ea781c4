"""Live service: real jobs on real nodes."""
