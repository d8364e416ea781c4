"""Message transports. The only importer of mpi4py and pyzmq."""
