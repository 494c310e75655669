"""Functions of one's own in the arrays of the kernels: section laws, active stresses, and loads on frames.

Stresses have one row for each quadrature point of their rods (:mod:`elver.kernels.terms.own_functions`). What is linear
in a section law at rest is in K_elastic as that of any rod, and is taken off here again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.actuation import ActiveStress
from elver.environment import FrameLoad
from elver.functions import Asked
from elver.rods import Law, Rod
from elver.system import System

__all__ = ["Own", "own_functions"]

Array: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Own:
    """Functions of one's own in a system, in the order of the arrays."""

    laws: tuple[Rod, ...]  # rods with a law of one's own
    stresses: tuple[ActiveStress, ...]
    loads: tuple[FrameLoad, ...]

    @property
    def asked(self) -> tuple[Asked, ...]:
        """Functions of stresses: section laws, then actuators."""
        laws = [rod.law.asked for rod in self.laws if isinstance(rod.law, Law)]
        return (*laws, *(part.asked for part in self.stresses))

    @cached_property
    def addresses(self) -> dict[str, Ints]:
        """Where compiled code of this process calls them."""
        return {
            "own_address": np.array([one.address for one in self.asked], dtype=np.int64),
            "pushed_address": np.array([load.asked.address for load in self.loads], dtype=np.int64),
        }

    def arrays(self, system: System, at: dict[Rod, slice], s: Array, ds: Array, rest: Array) -> dict[str, Any]:
        """Arrays of Layout and Values, from the points of each rod, their places, weights and rest strains."""
        owners: list[tuple[Rod, ActiveStress | None]] = [(rod, None) for rod in self.laws]
        owners += [(part.rod, part) for part in self.stresses]
        count = [at[rod].stop - at[rod].start for rod, _ in owners]
        ends = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
        own = [np.arange(at[rod].start, at[rod].stop, dtype=np.int64) for rod, _ in owners]
        point = np.concatenate([np.zeros(0, dtype=np.int64), *own])
        origin, linear = np.zeros((point.size, 6)), np.zeros((point.size, 6, 6))
        for (rod, part), low, high in zip(owners, ends[:-1], ends[1:], strict=True):
            if part is None:
                origin[low:high] = rest[at[rod]]
                linear[low:high] = rod.section_stiffness(s[at[rod]])
        inputs = [-1 if part is None else system.input_index(part) for _, part in owners]
        first, parameters = _packed([one.parameters for one in self.asked])
        pushed, of_loads = _packed([load.asked.parameters for load in self.loads])
        return {
            "own_input": np.array(inputs, dtype=np.int64),
            "own_reach": np.stack([ends[:-1], ends[1:]], axis=1),
            "own_first": first,
            "own_point": point,
            "own_weight": ds[point],
            "own_s": s[point],
            "own_origin": origin,
            "own_linear": linear,
            "own_parameters": parameters,
            "pushed_input": np.array([system.input_index(load) for load in self.loads], dtype=np.int64),
            "pushed_first": pushed,
            "pushed_parameters": of_loads,
        }


def own_functions(system: System) -> Own:
    """Functions of one's own in ``system``."""
    return Own(
        tuple(rod for rod in system.mechanism.rods if isinstance(rod.law, Law)),
        tuple(part for part in system.actuators if isinstance(part, ActiveStress)),
        tuple(load for load in system.loads if isinstance(load, FrameLoad)),
    )


def _packed(parameters: list[Array]) -> tuple[Ints, Array]:
    """Where the parameters of each function begin, and all of them; one more, so that there is always one."""
    first = np.cumsum([0, *(one.size for one in parameters)])[:-1].astype(np.int64)
    return first, np.concatenate([*parameters, np.zeros(1)])
