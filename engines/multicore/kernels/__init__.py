"""Batch kernels: a program's plain Python functions, compiled to C function pointers with Numba."""
