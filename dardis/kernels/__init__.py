"""The Numba kernels: hot loops over the nodes that one host process holds. Knows arrays only.

The only door to Numba. Plain reference implementations of each kernel stand in the tests as oracles.
"""
