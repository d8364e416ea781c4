"""Numba kernels on arrays, and the only imports of Numba.

Kernels that write rows return their new number. DONE means success. After FULL, ROOM or another lack of space, enlarge
the arrays and call again.
"""
