"""Faults that a careless hand could put into the program, and the run that shows that tests notice each of them."""
