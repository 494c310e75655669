"""Compiled inner loops on flat arrays, in rooms, with a readable twin.

``build``    how a kernel is declared, compiled in another process, stored, loaded and called from Python
``tree``     arrays of a robot, residual, tangent, elimination in O(n), articulated bodies, observation
``terms``    what acts: tendons and section laws on coordinates, water on frames, closures and spans between two
``march``    solvers: equilibria, one-step, Gauss, conserving and explicit steps, with what they remember
``one_rod``  sections and shooting along one rod
``twin``     the same in plain NumPy
"""

from elver.kernels.build.warmup import is_warm, warmup

__all__ = ["is_warm", "warmup"]
