"""Kernels as plain Python beside their machine code: the same numbers, and no name that is used before it is given."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from elver.kernels.build import entry
from elver.kernels.build.cache import Kernel
from elver.kernels.build.signatures import find
from elver.kernels.build.tables import AtAddress, Unpacker

ROUNDING = 1e-12


class Table:
    """Stands for the table of a robot: all its terms are there, and it holds what is unpacked from it."""

    def __init__(self, *values: Any) -> None:
        self.values = values

    def __getitem__(self, place: int) -> int:
        return 1


def plain(kernel: Kernel, known: dict[Kernel, Callable[..., Any]]) -> Callable[..., Any]:
    """A kernel with all that it calls in plain Python."""
    if kernel in known:
        return known[kernel]
    source = kernel.py_func
    names = dict(source.__globals__)
    known[kernel] = FunctionType(source.__code__, names, source.__name__, source.__defaults__)
    for name in source.__code__.co_names:
        value = names.get(name)
        if isinstance(value, Kernel):
            names[name] = plain(value, known)
        elif isinstance(value, Unpacker):
            names[name] = lambda table: table.values
        elif isinstance(value, AtAddress):
            names[name] = lambda _, term=value.name: plain(find(term), known)
    return known[kernel]


@pytest.mark.parametrize("jets", [1, 3])
@pytest.mark.parametrize("foundation", ["clamped", "free"])
def test_residual_and_tangent_in_plain_python(robot: Callable[..., Any], foundation: str, jets: int) -> None:
    """Tolerance: rounding, sums are ordered otherwise in machine code."""
    made = robot(foundation=foundation)
    kernels, at, inputs = made.core, made.arrays, made.inputs
    columns, weights = np.zeros((18, 6)), np.array([1.0, 0.3, 0.7])
    columns[range(18), 3 * [*range(6)]] = np.repeat(weights, 6)
    p, w = kernels.program, kernels.work
    state = at.base, at.twist, at.q, at.multipliers, inputs, jets
    frames, matrix = (at.base, at.multipliers, inputs, jets), (at.q, at.multipliers, inputs, columns, weights, jets)

    entry.evaluate_residual(kernels.robot, *state)
    entry.evaluate_frames(kernels.robot, *frames)
    entry.evaluate_matrix(kernels.robot, *matrix)
    compiled = w.residual.copy(), w.pose.copy(), w.force.copy(), w.matrix.copy()
    for array in w:
        array[...] = 0
    known: dict[Kernel, Callable[..., Any]] = {}
    table = Table(p, w)
    with np.errstate(all="ignore"):
        plain(find("tree.evaluate.evaluate_residual"), known)(table, *state)
        plain(find("tree.tangent.evaluate_frames"), known)(table, *frames)
        plain(find("tree.tangent.evaluate_matrix"), known)(table, *matrix)
    for found, wanted in zip(compiled, (w.residual, w.pose, w.force, w.matrix), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=ROUNDING * np.abs(wanted).max())
