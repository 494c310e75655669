"""Rods as optimal control problems along their length, without strain modes.

``problem`` one rod of a system as functions of s; ``shooting`` multiple shooting on SE(3); ``indirect_statics``
equilibria by shooting; ``conjugate`` their stability by conjugate points.
"""

from elver.optimal.problem import End, EndWrench, RodProblem

__all__ = ["End", "EndWrench", "RodProblem"]
