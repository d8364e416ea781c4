"""Inputs of planning."""
