"""The multicore engine: a C++ core that runs synchronization plans with compiled kernels."""
