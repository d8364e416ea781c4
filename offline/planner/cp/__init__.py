"""Planning with OR-Tools: the thesis's model, polish of plans, and profit bounds."""
