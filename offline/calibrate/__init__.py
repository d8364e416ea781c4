"""Fits power figures to measurements, by node group.

`dardis.power.fit` has the regression.
"""
