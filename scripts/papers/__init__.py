"""Claims of the thesis and of the papers, and the commands that test them: `scripts/reproduce` runs these."""
