"""What of planning OR-Tools does: the thesis's model, the polish of a plan, and proven bounds on the profit."""
