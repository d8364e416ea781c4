"""What makes a site of the pages in docs/: links out of that folder, diagrams. `scripts/docs` calls it."""
