"""The shared-memory multicore engine: a C++ core that runs synchronization plans with compiled kernels."""
