"""Fits power figures to measurements, by node group.

`dardis.power.fit` has the regression, `dardis.config.power_samples` the reader.
"""
