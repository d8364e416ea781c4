"""Fits a platform's power figures to a site's measurements, by node group.

`dardis.power.fit` has the regression, `dardis.config.power_samples` reads the measurements.
"""
