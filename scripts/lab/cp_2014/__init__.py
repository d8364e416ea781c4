"""PCP'14's experiment (thesis chapter 3): six constraint models beside PBS, on two-hour batches of Eurora's trace."""
