"""Planning with OR-Tools: the thesis's model, the polish of a plan, and proven profit bounds."""
