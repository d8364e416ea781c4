"""Numba kernels on arrays, and the only imports of Numba.

Kernels that write rows return their new number. After FULL, ROOM or another lack of space, enlarge the arrays and call
again. DONE: success.
"""
