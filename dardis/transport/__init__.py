"""Carries messages between task managers and the hosts of node managers; decides nothing. The only door to mpi4py."""
