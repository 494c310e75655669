"""Compiled inner loops on flat arrays, with a readable twin.

:mod:`~elver.kernels.program` holds the arrays, :mod:`~elver.kernels.recursion` and
:mod:`~elver.kernels.tangent` the two recursions, :mod:`~elver.kernels.evaluate` the residual that every solver
calls, :mod:`~elver.kernels.march` the solvers, :mod:`~elver.kernels.entry` the way in from Python, and
:mod:`~elver.kernels.twin` says the same in plain NumPy.
"""

from elver.kernels.warmup import is_warm, warmup

__all__ = ["is_warm", "warmup"]
