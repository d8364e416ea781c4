"""Batsim's protocol, on the simulator's side."""
