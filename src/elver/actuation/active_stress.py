"""Actuators of one's own: an internal stress Λ_act along a rod, a function of strain, place and input.

    Λ = 𝓗 (ξ - ξ₀) + Λ_act(ξ, s, u) ,      Λ_act = ∂W/∂ξ where it has an energy

A tendon is such a stress, with W = T |Γ + K×D + D'|; a muscle too, with W = u Λ_act·ξ.

Theory: docs/theory/actuation.md, eq. (active-force).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from elver.errors import BadInput, finite
from elver.functions import ACTUATOR, Asked, Function, as_function, check_slopes
from elver.mechanism import Acts, Mechanism
from elver.rods import Rod
from elver.rods.fields import Array, arc_lengths, check_name, interior
from elver.values import Carried
from elver.words import brief, describe

__all__ = ["ActiveStress"]

# Strains from that at rest at which slopes are compared: curvatures times the length of the rod, then stretches.
_PLACES = np.array(
    [
        [0.02, -0.03, 0.04, 0.001, -0.002, 0.0015],
        [-0.2, 0.3, 0.1, -0.01, 0.01, 0.02],
        [0.6, -0.5, -0.8, 0.03, 0.02, -0.03],
    ]
)


@brief
@dataclass(frozen=True, eq=False)
class ActiveStress(Acts, Carried):
    """An actuator of one's own along a rod: ``function(xi, s, input, parameters, stress, slope)``.

    ``xi`` (6,) is the whole strain (curvature [1/m]; stretch, 1 in a straight rod), s [m], ``input`` the value of its
    channel, in ``unit`` and ``default`` where none is given. Write ``stress`` (6,) [N m, N], in section axes, and
    ``slope`` (6, 6) = ∂stress/∂xi in place (both come as zeros). Return the energy per length [J/m] at this input, if
    the stress has one; without it Conserving() is not to be had. Functions as for :class:`elver.Law`: Python, the slow
    lane, in which the slope may be left out, :func:`elver.compiled`, a ``numba.cfunc`` or an address. Slope and energy
    are checked at three strains with the input ``check_at``. ``breaks`` [m] are places where it jumps.
    """

    rod: Rod
    function: Function
    parameters: Any = ()
    unit: str = "1"
    default: float = 0.0
    check_at: float = 1.0
    breaks: tuple[float, ...] = ()
    name: str = "active stress"

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "name", check_name("active stress", self.name))
        label = f"active stress {self.name!r}"
        if not isinstance(self.rod, Rod):
            raise BadInput(f"{label}: rod = {describe(self.rod)}; give the Rod it acts on")
        object.__setattr__(self, "function", as_function(f"active stress {self.name!r}", ACTUATOR, self.function))
        parameters = tuple(float(value) for value in np.atleast_1d(np.asarray(self.parameters, dtype=float)))
        put(self, "parameters", parameters)
        for field in ("default", "check_at"):
            put(self, field, float(finite(f"{label}: {field}", getattr(self, field), (), self.unit)))
        given = finite(f"{label}: breaks", np.atleast_1d(np.asarray(self.breaks, dtype=float)), (-1,), "m")
        put(self, "breaks", interior(tuple(given.tolist()), self.rod.length))
        self.has_energy  # noqa: B018 (what is wrong is said here)

    @cached_property
    def asked(self) -> Asked:
        """The function, for Python and for compiled code."""
        return Asked(f"active stress {self.name!r}", ACTUATOR, self.function, self.parameters)

    @cached_property
    def has_energy(self) -> bool:
        """Whether the function returns an energy, which the stress is the derivative of."""
        length = self.rod.length
        unit, s = np.array([1.0 / length] * 3 + [1.0] * 3), length * np.array([0.1, 0.5, 0.9])
        strains = self.rod.rest_strain(s) + _PLACES * unit
        return check_slopes(self.asked, [(x, float(at), self.check_at) for x, at in zip(strains, s, strict=True)], unit)

    @property
    def rods(self) -> tuple[Rod, ...]:
        """The rod it acts on, as for actuators that run along several."""
        return (self.rod,)

    @property
    def traits(self) -> tuple[Any, ...]:
        """Its function."""
        return (self.asked.code,)

    @property
    def jumps(self) -> tuple[tuple[Rod, float], ...]:
        """Its breaks."""
        return tuple((self.rod, s) for s in self.breaks)

    def acts_on(self, mechanism: Mechanism) -> tuple[Any, ...]:
        """The rod."""
        return (self.rod,)

    def stress(self, s: ArrayLike, xi: Array, value: float) -> Array:
        """Λ_act at ``s`` [m] and the strains ``xi`` (len(s), 6) for an input, (len(s), 6)."""
        places = zip(arc_lengths(s), xi, strict=True)
        return np.array([self.asked.evaluate(x, float(at), value)[0] for at, x in places]).reshape(-1, 6)

    def check(self, value: float) -> float:
        """The input if it is finite."""
        return float(finite(f"input of {self.name!r}", value, (), self.unit))
