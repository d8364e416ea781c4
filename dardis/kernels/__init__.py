"""Numba kernels on arrays, and the only imports of Numba. Tests hold plain reference implementations."""
