"""Carries messages between task managers and the hosts of node managers; decides nothing. Door to mpi4py and pyzmq."""
