"""Live service: real jobs on real nodes, with the decisions of the simulation."""
