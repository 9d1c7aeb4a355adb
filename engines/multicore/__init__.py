"""Runs programs of all models on one machine's cores, in C++ with compiled kernels."""
