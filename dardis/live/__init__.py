"""The live service: real jobs on real nodes, by the same decisions as in simulation."""
