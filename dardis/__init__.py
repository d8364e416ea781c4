"""DARDIS: a distributed scheduler for supercomputers, its simulator and its planner."""

__version__ = "0.1.0"
