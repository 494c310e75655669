"""One rod along its length, without strain modes: its equilibrium or motion as an optimal control problem in s.

``problem`` one rod of a system as functions of s; ``shooting`` the conditions of optimality by multiple shooting on
SE(3): equilibria, their conjugate points, motion; ``transcription`` the energy minimised over elements, with Ipopt;
``sweeps`` inverse models of given shapes and motions, and the singular linear-quadratic problem; ``result`` what all
results share; ``checks`` what is asked before solving and ``balance`` what is asked after; ``methods`` the front door,
which chooses among them and strain modes.
"""

from elver.one_rod.methods import Comparison, RodShape, compare_methods, rod_equilibrium
from elver.one_rod.problem import End, EndWrench, RodProblem
from elver.one_rod.shooting.conjugate import ConjugatePoints, conjugate_points
from elver.one_rod.shooting.dynamics import RodMotion, shooting_dynamics, shooting_growth
from elver.one_rod.shooting.statics import RodSolution, solve_rod
from elver.one_rod.transcription.direct import Constraint, direct_equilibrium

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
