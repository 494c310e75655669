"""Rigid bodies as shaded quadrilaterals: boxes, cylinders (also elliptic) and spheres with rounded edges.

A face counts as near as its middle when matplotlib sorts by depth. Surfaces are therefore cut into cells
about as long as the faces of a tube are: then a rod in front of a plate is drawn in front of it.
"""

from __future__ import annotations

import numpy as np
from matplotlib.colors import to_rgb

from elver.bodies import Box, Cylinder, EllipticCylinder, Shape, Sphere
from elver.viz.tube import Surface, normals_away, quadrilaterals

__all__ = ["corners_of", "placed", "solid"]

_EDGE = 0.16  # radius of a rounded edge, in smallest half widths


def solid(shape: Shape, cell: float, *, colour: str, stripe: bool = True) -> Surface:
    """Surface of ``shape`` around the origin of its own axes, in faces of about ``cell`` [m].

    The stripe, a lighter line on the sides of cylinders and spheres, shows how they turn.
    """
    if isinstance(shape, Box):
        corners, marked = _box(np.array(shape.size) / 2.0, cell), None
    elif isinstance(shape, Cylinder | EllipticCylinder):
        corners, marked = _cylinder(_half_axes(shape), shape.length, shape.axis, cell)
    else:
        corners, marked = _sphere(shape, cell)
    base = np.array(to_rgb(colour))
    colours = np.tile(base, (len(corners), 1))
    if stripe and marked is not None:
        colours[marked] = 0.55 * base + 0.45
    return Surface(corners, normals_away(corners, np.zeros(3)), colours)


def placed(surface: Surface, R: np.ndarray, p: np.ndarray) -> Surface:
    """A surface in body axes, turned by ``R`` (3, 3) and moved to ``p`` (3,) in the world."""
    return Surface(surface.corners @ R.T + p, surface.normals @ R.T, surface.colours)


def corners_of(shape: Shape, R: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Points (T, n, 3) that span what a shape covers at ``R`` (T, 3, 3) and ``p`` (T, 3)."""
    if isinstance(shape, Sphere):
        ends = shape.radius * np.concatenate([np.eye(3), -np.eye(3)])
        return np.asarray(p[:, None] + ends)
    if isinstance(shape, Box):
        half = np.array(shape.size) / 2.0
    else:
        half = np.roll([shape.length / 2.0, *_half_axes(shape)], "xyz".index(shape.axis))
    signs = np.stack(np.meshgrid(*3 * [[-1.0, 1.0]]), axis=-1).reshape(-1, 3)
    return np.asarray(p[:, None] + (signs * half) @ np.swapaxes(R, 1, 2))


def _box(half: np.ndarray, cell: float) -> np.ndarray:
    """Faces (F, 4, 3) of a box of these half sides, (3,)."""
    edge = _EDGE * half.min()
    flat = half - edge
    lines = []
    for inner in flat:
        middle = np.linspace(-inner, inner, _count(2.0 * inner, cell) + 1)
        round_edge = inner + edge * np.array([0.5, 1.0])
        lines.append(np.concatenate([-round_edge[::-1], middle, round_edge]))
    faces = []
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        for side in (-half[k], half[k]):
            grid = np.empty((len(lines[i]), len(lines[j]), 3))
            grid[..., i], grid[..., j] = np.meshgrid(lines[i], lines[j], indexing="ij")
            grid[..., k] = side
            # what reaches beyond the flat part goes on the quarter round of the edge, or on the ball of the corner
            inside = np.clip(grid, -flat, flat)
            outward = grid - inside
            faces.append(quadrilaterals(inside + edge * outward / np.linalg.norm(outward, axis=2, keepdims=True)))
    return np.concatenate(faces)


def _half_axes(shape: Cylinder | EllipticCylinder) -> tuple[float, float]:
    return shape.half_axes if isinstance(shape, EllipticCylinder) else (shape.radius, shape.radius)


def _cylinder(half_axes: tuple[float, float], length: float, axis: str, cell: float) -> tuple[np.ndarray, np.ndarray]:
    """Faces (F, 4, 3) and which of them are the stripe: a round cylinder, flattened where the half axes differ."""
    r, h = max(half_axes), length / 2.0
    edge = _EDGE * min(*half_axes, h)
    turn = np.linspace(0.0, np.pi / 2.0, 4)
    across = np.linspace(0.0, r - edge, _count(r, cell) + 1)[:-1]
    cap = np.stack([np.full_like(across, h), across], axis=1)
    rim = np.stack([h - edge + edge * np.cos(turn), r - edge + edge * np.sin(turn)], axis=1)
    top = np.concatenate([cap, rim])  # (along, radius)
    cells = _count(2.0 * h, cell)
    side = np.stack([np.linspace(h - edge, edge - h, cells + 1)[1:-1], np.full(cells - 1, r)], axis=1)
    bottom = top[::-1] * [-1.0, 1.0]
    around = int(np.clip(3.0 * 2.0 * np.pi * r / cell, 36, 96))
    corners = _revolved(np.concatenate([top, side, bottom]), axis, around)
    corners *= np.roll([1.0, half_axes[0] / r, half_axes[1] / r], "xyz".index(axis))
    rings = len(corners) // around
    marked = np.zeros((rings, around), dtype=bool)
    marked[len(across) : rings - len(across), 0] = True
    return corners, marked.ravel()


def _sphere(shape: Sphere, cell: float) -> tuple[np.ndarray, np.ndarray]:
    """Faces (F, 4, 3) and which of them are the stripe."""
    rings = int(np.clip(2.0 * np.pi * shape.radius / cell, 14, 36))
    polar = np.linspace(0.0, np.pi, rings + 1)
    profile = shape.radius * np.stack([np.cos(polar), np.sin(polar)], axis=1)
    corners = _revolved(profile, "z", 2 * rings)
    marked = np.zeros((rings, 2 * rings), dtype=bool)
    marked[:, 0] = True
    return corners, marked.ravel()


def _revolved(profile: np.ndarray, axis: str, around: int) -> np.ndarray:
    """Faces of the surface that a profile (n, 2) of places along an axis and radii leaves when turned about it."""
    angle = np.linspace(0.0, 2.0 * np.pi, around + 1) - np.pi / around
    k = "xyz".index(axis)
    points = np.empty((len(profile), around + 1, 3))
    points[..., k] = profile[:, :1]
    points[..., (k + 1) % 3] = profile[:, 1:] * np.cos(angle)
    points[..., (k + 2) % 3] = profile[:, 1:] * np.sin(angle)
    return quadrilaterals(points)


def _count(length: float, cell: float) -> int:
    """Cells along an edge: at least one, and not more than a picture can show."""
    return int(np.clip(np.ceil(length / cell), 1, 40))
