"""Targets by thesis algorithm 8, or by trees learned from past days."""
