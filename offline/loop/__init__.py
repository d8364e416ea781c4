"""Successive days, each planned and then simulated with real jobs."""
