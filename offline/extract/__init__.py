"""Targets by thesis algorithm 8, or learned trees."""
