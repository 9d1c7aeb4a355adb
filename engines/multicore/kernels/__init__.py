"""Compiles a program's Python functions to batch kernels: C function pointers made by Numba."""
