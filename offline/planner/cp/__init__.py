"""Planning by OR-Tools: the thesis's model and its searches, the polish of a plan, and proven bounds on the profit."""
