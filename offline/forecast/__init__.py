"""What will be submitted in the next day or two, learned from what was submitted before."""
