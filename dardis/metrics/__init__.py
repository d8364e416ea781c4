"""Metrics and audit of schedules."""
