"""Rods, bodies and tendons as few moving pieces, so that a browser gets numbers instead of meshes.

A rod is a row of short straight tubes between points of the smooth centre line: one mesh for all, drawn once per piece
with its own pose, size and colour. Sixty-four pieces turn by a degree or two each, which no eye sees, and a picture of
the rod is 43 bytes per piece. Between the nodes of the run the centre line is a cubic spline in s; it is linear in the
node positions, so that one small matrix does it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from scipy.interpolate import CubicSpline, make_interp_spline

from elver.lie import so3
from elver.rods import Rod
from elver.viz.measures import MEASURES, RAMP, RodMeasures, turning
from elver.viz.tube import Surface

__all__ = ["MEASURES", "RAMP", "Colours", "RodSkin", "ball", "disk", "interpolation", "open_tube", "triangles"]


@dataclass
class Colours:
    """Numbers to colours, from zero to the largest value seen so far."""

    unit: str
    least: float  # scale of the colours is never smaller: noise is not coloured
    largest: float = 0.0

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Colours (n, 3) in 0 ... 255."""
        self.largest = max(self.largest, self.least, float(np.max(values, initial=0.0)))
        entry = (255.0 * np.clip(values / self.largest, 0.0, 1.0)).astype(int)
        return np.asarray(255.0 * _TABLE[entry], dtype=np.uint8)


_TABLE = LinearSegmentedColormap.from_list("elver-measure", RAMP)(np.linspace(0.0, 1.0, 256))[:, :3]


class RodSkin:
    """Pieces of one rod: ``s`` (N,) nodes, ``half_width`` (N, 2), ``count`` pieces, no thinner than ``least``."""

    def __init__(self, s: np.ndarray, half_width: np.ndarray, count: int, least: float, rod: Rod | None = None) -> None:
        s = np.asarray(s, dtype=float)
        self.s, self.count, self.rod = s, count, rod
        edges = np.linspace(s[0], s[-1], count + 1)
        self.middle = 0.5 * (edges[1:] + edges[:-1])
        self.to_edges = interpolation(s, edges)
        self.to_middle = interpolation(s, self.middle)
        half = np.stack([np.interp(self.middle, s, half_width[:, k]) for k in (0, 1)], axis=1)
        self.half = np.maximum(half, least)
        self.ends = np.maximum(half_width[[0, -1]], least)
        self._measures = None if rod is None else RodMeasures(rod, self.middle)

    def pieces(self, position: np.ndarray, rotation: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Places (n, 3), quaternions (n, 4) and sizes (n, 3) from nodes (N, 3) and section frames (N, 3, 3)."""
        edges = self.to_edges @ position
        along = np.diff(edges, axis=0)
        length = np.linalg.norm(along, axis=1)
        x = along / np.maximum(length, 1e-12)[:, None]
        y = self.to_middle @ rotation[:, :, 1]
        y -= np.sum(x * y, axis=1, keepdims=True) * x
        y /= np.maximum(np.linalg.norm(y, axis=1, keepdims=True), 1e-12)
        R = np.stack([x, y, np.cross(x, y)], axis=2)
        # neighbours overlap by what opens on the outer side of a bend
        turn = np.linalg.norm(np.diff(x, axis=0, prepend=x[:1], append=x[-1:]), axis=1)
        overlap = 0.02 * length + 1.1 * self.half.max(axis=1) * np.maximum(turn[1:], turn[:-1])
        size = np.column_stack([length + overlap, self.half])
        return 0.5 * (edges[1:] + edges[:-1]), np.asarray(so3.to_quaternion(R)), size

    def line(self, position: np.ndarray, rotation: np.ndarray, D: np.ndarray, matrix: np.ndarray) -> np.ndarray:
        """Points (n, 3) at offsets ``D`` (n, 3) in the section, with ``matrix`` (n, N) from the nodes."""
        R = np.einsum("nk,kij->nij", matrix, rotation)
        return np.asarray(matrix @ position + np.einsum("nij,nj->ni", R, D))

    def on_skin(self, s: np.ndarray, D: np.ndarray) -> np.ndarray:
        """Offsets ``D`` (n, 3) at ``s`` (n,), those within the drawn section moved out to its surface, to be seen."""
        half = np.stack([np.interp(s, self.middle, self.half[:, k]) for k in (0, 1)], axis=1)
        depth = np.linalg.norm(D[:, 1:] / half, axis=1)
        out = np.where((depth > 1e-6) & (depth < 1.03), 1.03 / np.maximum(depth, 1e-6), 1.0)
        return D * np.column_stack([np.ones_like(out), out, out])

    def measure(self, name: str, q: np.ndarray | None, rotation: np.ndarray) -> np.ndarray:
        """A measure of MEASURES at the pieces, (n,); curvature where only the shape is known."""
        if q is None or self._measures is None:
            return turning(self.s, rotation, self.middle)
        return self._measures(name, q)

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of what can be told."""
        return ("curvature",) if self._measures is None else self._measures.names

    def least(self, name: str) -> float:
        """Value below which a measure is not worth colour."""
        return 0.1 / max(float(np.ptp(self.s)), 1e-9) if self._measures is None else self._measures.least(name)


def interpolation(s: np.ndarray, fine: np.ndarray) -> np.ndarray:
    """Matrix (len(fine), len(s)) of the spline through nodes."""
    unit = np.eye(len(s))
    return np.asarray(make_interp_spline(s, unit, k=1)(fine) if len(s) < 4 else CubicSpline(s, unit)(fine))


# Meshes ---------------------------------------------------------------------------------------------------------


def open_tube(around: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of a tube of radius 1 along x from -1/2 to 1/2, without ends."""
    angle = np.linspace(0.0, 2.0 * np.pi, around, endpoint=False)
    ring = np.stack([np.zeros(around), np.cos(angle), np.sin(angle)], axis=1)
    half = np.array([0.5, 0.0, 0.0])
    vertices = np.concatenate([ring - half, ring + half])
    k = np.arange(around)
    n = (k + 1) % around
    faces = np.concatenate([np.stack([k, k + around, n], 1), np.stack([n, k + around, n + around], 1)])
    return vertices, faces[:, ::-1]


def disk(around: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of a plate of radius 1 along x from -1/2 to 1/2, closed, with sharp edges."""
    vertices, faces = open_tube(around)
    k = np.arange(around)
    n = (k + 1) % around
    parts, triangles_, first = [vertices], [faces], 2 * around
    for side in (-1, 1):
        ring = vertices[:around] if side < 0 else vertices[around:]
        parts.append(np.concatenate([ring, [[0.5 * side, 0.0, 0.0]]]))
        fan = np.stack([k, n, np.full(around, around)], 1) if side > 0 else np.stack([n, k, np.full(around, around)], 1)
        triangles_.append(fan + first)
        first += around + 1
    return np.concatenate(parts), np.concatenate(triangles_)


def ball(rings: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of a ball of radius 1."""
    polar, around = np.linspace(0.0, np.pi, rings + 1), 2 * rings
    angle = np.linspace(0.0, 2.0 * np.pi, around, endpoint=False)
    points = np.stack(
        [
            np.repeat(np.cos(polar), around),
            np.outer(np.sin(polar), np.cos(angle)).ravel(),
            np.outer(np.sin(polar), np.sin(angle)).ravel(),
        ],
        axis=1,
    )
    i, k = np.meshgrid(np.arange(rings), np.arange(around), indexing="ij")
    a, b = i * around + k, i * around + (k + 1) % around
    faces = np.concatenate(
        [np.stack([a, a + around, b], -1).reshape(-1, 3), np.stack([b, a + around, b + around], -1).reshape(-1, 3)]
    )
    return points, _outward(points, faces)


def triangles(surface: Surface) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of a surface of quadrilaterals around the origin, corners that coincide joined."""
    corners = surface.corners.reshape(-1, 3)
    size = max(float(np.abs(corners).max()), 1e-12)
    _, first, index = np.unique(np.round(corners / size, 6), axis=0, return_index=True, return_inverse=True)
    quads = index.reshape(-1, 4)
    faces = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    vertices = corners[first]
    p, q, r = (vertices[faces[:, k]] for k in range(3))
    flat = np.linalg.norm(np.cross(q - p, r - p), axis=1) < 1e-14 * size**2
    return vertices, _outward(vertices, faces[~flat])


def _outward(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Triangles turned so that their normals leave the origin."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    inward = np.sum(np.cross(b - a, c - a) * (a + b + c), axis=1) < 0.0
    return np.where(inward[:, None], faces[:, ::-1], faces)
