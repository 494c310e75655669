"""Compiled inner loops on flat arrays, with a readable twin.

:mod:`~elver.kernels.program` holds the arrays, :mod:`~elver.kernels.recursion` and :mod:`~elver.kernels.tangent` are
the two recursions, :mod:`~elver.kernels.interval` is what one interval does to second order, and
:mod:`~elver.kernels.evaluate` the residual that every solver calls. Solvers are :mod:`~elver.kernels.rest` for
equilibria, :mod:`~elver.kernels.one_step` and :mod:`~elver.kernels.gauss` in time, with what they share in
:mod:`~elver.kernels.march`. :mod:`~elver.kernels.entry` is the way in from Python, and :mod:`~elver.kernels.twin` says
the same in plain NumPy. How code is made and kept: :mod:`~elver.kernels.cache` declares kernels,
:mod:`~elver.kernels.build` compiles them in another process, :mod:`~elver.kernels.load` reads what is stored.
"""

from elver.kernels.warmup import is_warm, warmup

__all__ = ["is_warm", "warmup"]
