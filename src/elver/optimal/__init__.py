"""Rods as optimal control problems along their length, without strain modes.

``problem`` one rod of a system as functions of s; ``shooting`` multiple shooting on SE(3); ``static_flow`` and
``indirect_statics`` equilibria by shooting; ``conjugate`` their stability by conjugate points; ``indirect_dynamics``
motion by shooting, with ``time_scheme``, ``shooting_grid``, ``shooting_ends``, ``shooting_step``, ``critical_step``;
``direct`` transcription with Ipopt; ``inverse`` stresses of given shapes and motions;
``singular_sweep`` and ``singular_rods`` the singular linear-quadratic problem; ``result`` what all results share;
``checks`` what is asked before solving and ``balance`` what is asked after; ``methods`` the front door, which chooses
among them and strain modes.
"""

from elver.optimal.conjugate import ConjugatePoints, conjugate_points
from elver.optimal.direct import Constraint, direct_equilibrium
from elver.optimal.indirect_dynamics import RodMotion, shooting_dynamics, shooting_growth
from elver.optimal.indirect_statics import RodSolution, solve_rod
from elver.optimal.methods import Comparison, RodShape, compare_methods, rod_equilibrium
from elver.optimal.problem import End, EndWrench, RodProblem

__all__ = [
    "Comparison",
    "ConjugatePoints",
    "Constraint",
    "End",
    "EndWrench",
    "RodMotion",
    "RodProblem",
    "RodShape",
    "RodSolution",
    "compare_methods",
    "conjugate_points",
    "direct_equilibrium",
    "rod_equilibrium",
    "shooting_dynamics",
    "shooting_growth",
    "solve_rod",
]
