"""What the player of a report has from the model: measures of rods as colours, tendons, the disks that carry them.

Without a model, or for rods that it does not hold, colours tell the curvature of the drawn shape, and no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from elver.actuation import SpooledTendon, Tendon
from elver.mechanism import Frame
from elver.rods import Rod
from elver.system import System
from elver.viz.history import Cast
from elver.viz.measures import MEASURES, RodMeasures, turning

__all__ = ["DISKS", "Tendons", "measures_of", "tendons_of"]

DISKS = 9  # that carry a tendon outside of the section, along each rod


def measures_of(
    cast: Cast, chosen: np.ndarray, frames: Sequence[np.ndarray], run: xr.Dataset | None, system: System | None
) -> tuple[list[dict[str, Any]], np.ndarray]:
    """Each measure, with unit, largest value and end of its scale; values (measures, frames, nodes of rods) in 1/255.

    ``frames`` are the section frames (T, N, 3, 3) of each rod at the ``chosen`` instants.
    """
    if not cast.rods:
        return [], np.zeros((0, len(chosen), 0), dtype=np.uint8)
    rods = {} if system is None else {rod.name: rod for rod in system.mechanism.rods if rod in system.blocks}
    known = system is not None and run is not None and "q" in run and all(rod.name in rods for rod in cast.rods)
    if known and run is not None and system is not None:
        q = run["q"].values[cast.steps[chosen]]
        of = [(RodMeasures(rods[rod.name], rod.s), q[:, system.coordinates(rods[rod.name])]) for rod in cast.rods]
        names = [name for name in MEASURES if all(name in own.names for own, _ in of)]
        if "stress" in names:  # which says more of a rod than its resultants
            names = names[: names.index("stress") + 1]
        values = {name: np.concatenate([own(name, q) for own, q in of], axis=1) for name in names}
        least = {name: max(own.least(name) for own, _ in of) for name in names}
    else:
        drawn = [np.stack([turning(rod.s, R, rod.s) for R in own]) for rod, own in zip(cast.rods, frames, strict=True)]
        values = {"curvature": np.concatenate(drawn, axis=1)}
        least = {"curvature": max(0.1 / max(float(np.ptp(rod.s)), 1e-9) for rod in cast.rods)}
    told, parts = [], []
    for name, value in values.items():
        most = float(np.nanmax(value))
        largest = max(least[name], most)
        told.append({"name": name, "unit": MEASURES[name], "most": most, "largest": largest})
        parts.append(np.round(255.0 * np.nan_to_num(value) / largest).astype(np.uint8))
    return told, np.stack(parts)


@dataclass(frozen=True)
class Tendons:
    """Tendons as the player draws them.

    ``lines``: each a tendon (its number), a part, the first of the part's fine points, and offsets (n, 3) [m] in the
    section from there on. ``spans``: a tendon and two places: part (-1 is the world), fine point and offset.
    ``pulls``: their inputs (frames, tendons) as parts of 255 of the largest. ``disks``: part, fine point and radius.
    """

    lines: list[tuple[int, int, int, np.ndarray]]
    spans: list[tuple[int, list[tuple[int, int, list[float]]]]]
    pulls: np.ndarray
    disks: list[tuple[int, int, float]]


def tendons_of(
    system: System | None, run: xr.Dataset | None, steps: np.ndarray, fine: dict[str, np.ndarray]
) -> Tendons:
    """The tendons of ``system``; ``fine`` are the fine points s [m] of each rod that is drawn, by name and in order.

    Bodies that are drawn have no fine points, and follow the rods: their entry is empty.
    """
    lines, spans, disks = [], [], []
    places = {name: k for k, name in enumerate(fine)}
    tendons = [] if system is None else [a for a in system.actuators if isinstance(a, Tendon | SpooledTendon)]
    for k, tendon in enumerate(tendons):
        for rod in tendon.rods:
            if rod.name not in fine:
                continue
            s, stretch = fine[rod.name], tendon.stretch(rod)
            first, last = (int(np.argmin(np.abs(s - end))) for end in stretch)
            D = tendon.geometry(np.clip(s[first : last + 1], *stretch), rod)[0]
            lines.append((k, places[rod.name], first, D))
            if tendon.reach is not None:
                at = np.linspace(0.5 / DISKS, 1.0, DISKS) * rod.length
                carried = [(places[rod.name], int(np.argmin(np.abs(s - x))), tendon.reach) for x in at]
                disks += [disk for disk in carried if disk not in disks]
        for ends in tendon.spans:
            if all(end.part == "world" or end.part.name in places for end in ends):
                spans.append((k, [_place(end, places, fine) for end in ends]))
    pulls = np.zeros((len(steps), len(tendons)), dtype=np.uint8)
    if tendons and system is not None and run is not None and "inputs" in run:
        columns = [list(run["input"].values).index(system.label(tendon)) for tendon in tendons]
        pull = np.abs(run["inputs"].values[steps][:, columns])
        pulls = np.round(255.0 * np.nan_to_num(pull / np.maximum(pull.max(axis=0), 1e-300))).astype(np.uint8)
    return Tendons(lines, spans, pulls, disks)


def _place(frame: Frame, places: dict[str, int], fine: dict[str, np.ndarray]) -> tuple[int, int, list[float]]:
    p = frame.g[:3, 3]
    if isinstance(frame.part, str):
        return -1, 0, p.tolist()
    if isinstance(frame.part, Rod):
        nearest = int(np.argmin(np.abs(fine[frame.part.name] - frame.s)))
        return places[frame.part.name], nearest, p.tolist()
    return places[frame.part.name], 0, (p - np.asarray(frame.part.centre)).tolist()  # bodies turn about their middle
