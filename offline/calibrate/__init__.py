"""What a site measured becomes its platform's power figures: who ran where, samples, fits by group, and how it is told.

`dardis.power.fit` has the regression, `dardis.config.power_samples` reads the measurements.
"""
