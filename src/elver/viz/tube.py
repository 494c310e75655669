"""A rod as a shaded tube of quadrilaterals, for matplotlib's 3-D axes.

The section at s is drawn as an ellipse with the half widths along the section's y and z axes. Between the
nodes the centre line is a cubic spline in s and the section turns along the spline of its quaternion, so that
a handful of Gauss nodes gives a smooth tube. Shading is Blinn and Phong's: ambient, diffuse, a highlight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.colors import to_rgb
from scipy.interpolate import CubicSpline, make_interp_spline

from elver.lie import so3

__all__ = ["Surface", "flange", "join", "normals_away", "quadrilaterals", "shaded", "tube", "view_direction"]


@dataclass(frozen=True)
class Surface:
    """Quadrilaterals (F, 4, 3) in metres with one outward normal (F, 3) and one colour (F, 3) each."""

    corners: np.ndarray
    normals: np.ndarray
    colours: np.ndarray

    def where(self, kept: np.ndarray) -> Surface:
        """The faces for which ``kept`` (F,) is true, as a copy."""
        return Surface(self.corners[kept], self.normals[kept], self.colours[kept])


def join(surfaces: list[Surface]) -> Surface:
    """Several surfaces as one, so that matplotlib sorts all their faces by depth together."""
    return Surface(
        np.concatenate([part.corners for part in surfaces]),
        np.concatenate([part.normals for part in surfaces]),
        np.concatenate([part.colours for part in surfaces]),
    )


def tube(
    s: np.ndarray,
    position: np.ndarray,
    orientation: np.ndarray | None,
    half_width: np.ndarray,
    *,
    colour: str,
    along: int | None = None,
    around: int = 20,
    least_radius: float = 0.0,
    stripe: bool = True,
) -> Surface:
    """Surface of a rod: ``s`` (N,), ``position`` (N, 3), ``orientation`` (N, 3, 3), ``half_width`` (N, 2).

    Half widths below ``least_radius`` are drawn with it, so that a hair can be seen. The stripe, a lighter
    line on the +y side of the section, shows how the rod is twisted.
    """
    fine = np.linspace(s[0], s[-1], along or max(72, 4 * len(s)))
    centre = _resample(s, position, fine)
    R = _frames(s, position, orientation, fine)
    half = np.maximum(np.stack([np.interp(fine, s, half_width[:, i]) for i in (0, 1)], axis=1), least_radius)
    angle = np.linspace(0.0, 2.0 * np.pi, around + 1) - np.pi / around
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)

    # one ring per fine node, then a cap of shrinking rings at both ends
    ring_centre, ring_half, ring_R = [centre], [half], [R]
    for end, sign in ((0, -1.0), (-1, 1.0)):
        for lift in (0.6, 0.9, 1.0):
            bulge = 0.5 * half[end].min() * lift
            cap = centre[end] + sign * bulge * R[end][:, 0]
            shrink = half[end] * np.sqrt(1.0 - lift**2)
            if end == 0:
                ring_centre.insert(0, cap[None])
                ring_half.insert(0, shrink[None])
                ring_R.insert(0, R[end][None])
            else:
                ring_centre.append(cap[None])
                ring_half.append(shrink[None])
                ring_R.append(R[end][None])
    C, H, F = np.concatenate(ring_centre), np.concatenate(ring_half), np.concatenate(ring_R)

    in_section = circle[None] * H[:, None]  # (rings, around + 1, 2)
    points = C[:, None] + np.einsum("rij,raj->rai", F[:, :, 1:], in_section)
    corners = quadrilaterals(points)
    base = np.array(to_rgb(colour))
    colours = np.broadcast_to(base, (*points[:-1, :-1].shape[:2], 3)).copy()
    if stripe:
        colours[3:-3, 0] = 0.45 * base + 0.55
    middle = np.repeat(0.5 * (C[1:] + C[:-1]), around, axis=0)
    return Surface(corners, normals_away(corners, middle), colours.reshape(-1, 3))


def flange(position: np.ndarray, R: np.ndarray, radius: float, thickness: float, *, colour: str) -> Surface:
    """A round plate behind the base section of a held rod."""
    angle = np.linspace(0.0, 2.0 * np.pi, 41)
    circle = np.stack([np.zeros_like(angle), np.cos(angle), np.sin(angle)], axis=1)
    rings = [(-thickness, 0.0), (-thickness, radius), (0.0, radius), (0.0, 0.0)]
    points = np.stack([(circle * r + [x, 0.0, 0.0]) @ R.T + position for x, r in rings])
    corners = quadrilaterals(points)
    middle = np.broadcast_to(position - 0.5 * thickness * R[:, 0], (len(corners), 3))
    return Surface(corners, normals_away(corners, middle), np.tile(to_rgb(colour), (len(corners), 1)))


def view_direction(elevation: float, azimuth: float) -> np.ndarray:
    """Unit vector from the scene to the camera; angles in degrees as matplotlib counts them."""
    e, a = np.radians([elevation, azimuth])
    return np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])


def shaded(surface: Surface, elevation: float, azimuth: float) -> np.ndarray:
    """Colours (F, 3) in the light of a lamp that stands above and left of the camera."""
    to_camera = view_direction(elevation, azimuth)
    to_lamp = view_direction(elevation + 38.0, azimuth - 35.0)
    halfway = to_camera + to_lamp
    halfway /= np.linalg.norm(halfway)
    diffuse = np.clip(surface.normals @ to_lamp, 0.0, None)
    highlight = np.clip(surface.normals @ halfway, 0.0, None) ** 36
    from_below = 0.08 * np.clip(-surface.normals[:, 2], 0.0, None)  # what the bright floor gives back
    lit = surface.colours * (0.52 + 0.56 * diffuse + from_below)[:, None] + 0.38 * highlight[:, None]
    lit += 0.5 * np.clip(lit - 1.0, 0.0, None).sum(axis=1, keepdims=True)  # glare is white, not a purer colour
    return np.clip(lit, 0.0, 1.0)


def _resample(s: np.ndarray, values: np.ndarray, fine: np.ndarray) -> np.ndarray:
    if len(s) < 4:
        return np.asarray(make_interp_spline(s, values, k=1)(fine))
    return np.asarray(CubicSpline(s, values)(fine))


def _frames(s: np.ndarray, position: np.ndarray, orientation: np.ndarray | None, fine: np.ndarray) -> np.ndarray:
    """Section frames (len(fine), 3, 3), from the run or, if it has none, carried along without twist."""
    if orientation is not None:
        quaternion = so3.to_quaternion(orientation)
        # q and -q are one rotation: keep neighbours on one side before interpolating
        flips = np.sign(np.sum(quaternion[1:] * quaternion[:-1], axis=1))
        sides = np.concatenate([[1.0], np.cumprod(np.where(flips == 0.0, 1.0, flips))])
        smooth = _resample(s, quaternion * sides[:, None], fine)
        smooth /= np.linalg.norm(smooth, axis=1, keepdims=True)
        return np.asarray(so3.from_quaternion(smooth))
    centre = _resample(s, position, fine)
    tangent = np.gradient(centre, fine, axis=0)
    tangent /= np.maximum(np.linalg.norm(tangent, axis=1, keepdims=True), 1e-12)
    y = np.cross(np.eye(3)[np.argmin(np.abs(tangent[0]))], tangent[0])
    frames = np.empty((len(fine), 3, 3))
    for i, x in enumerate(tangent):
        y = y - (y @ x) * x
        y /= np.linalg.norm(y)
        frames[i] = np.stack([x, y, np.cross(x, y)], axis=1)
    return frames


def quadrilaterals(points: np.ndarray) -> np.ndarray:
    """Faces (F, 4, 3) between neighbouring rings (rings, around + 1, 3), each closed on itself."""
    a, b, c, d = points[:-1, :-1], points[:-1, 1:], points[1:, 1:], points[1:, :-1]
    return np.stack([a, b, c, d], axis=2).reshape(-1, 4, 3)


def normals_away(corners: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Unit normals that point away from ``inside`` (F, 3); diagonals serve triangles too."""
    normals = np.cross(corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
    outward = np.sum(normals * (corners.mean(axis=1) - inside), axis=1)
    return normals * np.where(outward < 0.0, -1.0, 1.0)[:, None]
