"""Trace-driven simulation: jobs arrive, run and end in virtual time; what the dispatcher decides is recorded."""
