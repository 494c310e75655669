"""How kernels are declared, compiled in another process, stored, loaded, and called from Python."""
