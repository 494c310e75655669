"""Parts that float apart over a conserving step: their rows, and what holds together (see :mod:`.conserving`).

A Floating joint that hangs from the world has coordinates, whose columns A (6, 6) turn during the step. Rows Aᵀ W of
the wrench W on all that it carries would sum wrenches of both ends in different directions, and momentum would be lost.
Its rows are therefore A⁻ᵀ of these at either end: W itself, in world axes about the world's origin,

    r = ½ (W_n + W_+) ,

the change of momentum of what it carries; ties between two such parts push on both with opposite wrenches, and cancel.
What floats as a whole, held together by ties and cables, is a group.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from elver.kernels.tree.program import Program

__all__ = ["groups_of"]

Ints = NDArray[np.int64]


def groups_of(program: Program, floating: tuple[int, ...]) -> tuple[Ints, Ints, Ints]:
    """(floats, floats_by, group) of :class:`.passage.Passage`."""
    frames, segment = program.inertia.shape[0], program.segment
    carrier = np.full(frames, -1)
    for k, (parent, first, count) in enumerate(segment[:, :3]):
        carrier[first + 1 : first + count + 1] = carrier[parent]
        if k in floating:
            carrier[first + count] = floating.index(k)
    # nodes: what floats apart, then the base of the tree, then the world
    base, world = len(floating), len(floating) + 1
    head = list(range(world + 1))

    def find(node: int) -> int:
        return node if head[node] == node else find(head[node])

    def node_of(frame: int) -> int:
        return world if frame < 0 else int(carrier[frame]) if carrier[frame] >= 0 else base

    if not program.free[0]:
        head[base] = world
    for a, b in (*program.closure_frame, *program.span_frame):
        head[find(node_of(int(a)))] = find(node_of(int(b)))
    heads = sorted({find(node) for node in range(world)} - {find(world)})
    number = {node: heads.index(find(node)) if find(node) in heads else -1 for node in range(world)}
    floats = [(k, segment[k, 1] + segment[k, 2], number[j]) for j, k in enumerate(floating)]
    group = [number[node_of(frame)] for frame in range(frames)]
    return np.array(floats, dtype=np.int64).reshape(-1, 3), carrier, np.array(group, dtype=np.int64)
