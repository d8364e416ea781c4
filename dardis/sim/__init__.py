"""Trace-driven simulation of jobs in virtual time."""
