"""Inputs of planning: machine, surroundings, calendar, and the machine's past as a schedule."""
