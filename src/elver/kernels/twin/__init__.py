"""The same mathematics in readable NumPy, against which kernels are tested."""
