"""The graph of a mechanism: parts as boxes, joints as lines between them, in layers from the root of its tree.

The world is the ground at the bottom. From it the tree grows upwards; a floating root stands on top, and its ties
to the world go down. Lengths in the drawing are inches.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, PathPatch, Rectangle
from matplotlib.path import Path

from elver.errors import BadInput
from elver.mechanism import Frame, Joint, Mechanism, Part
from elver.rods import Rod
from elver.system import System
from elver.viz.style import COLOURS, style
from elver.words import describe

__all__ = ["draw_graph"]

_BOX, _LAYER, _GAP = 0.5, 1.3, 0.35  # height of a box, distance of layers, space between neighbours
_CHARACTER = 0.085  # width of one, at 10 points
_ROD, _BODY = ("#e2f1f2", COLOURS["rod"]), ("#fbf1dc", COLOURS["gold"])
# Line, colour, width and meaning of joints.
_TIE: dict[str, tuple[Any, str, float, str]] = {
    "tree": ("-", COLOURS["ink"], 1.5, "in the tree"),
    "cut": ((0, (3.5, 2)), COLOURS["accent"], 1.5, "cut, closes a loop"),
    "free": (":", COLOURS["grey"], 1.2, "leaves all free"),
}


@dataclass(eq=False)
class _Box:
    """A part in the drawing: its layer counted from the ground, its centre, and how much room it needs."""

    part: Part
    layer: int
    width: float
    room: float
    x: float = 0.0

    @property
    def y(self) -> float:
        return self.layer * _LAYER


@dataclass
class _End:
    """One end of a joint: on a box, or on the ground if there is none."""

    frame: Frame
    box: _Box | None
    up: bool = False
    point: tuple[float, float] = (0.0, 0.0)


@dataclass
class _Edge:
    """A joint in the drawing; ``kind`` is tree, cut or free."""

    joint: Joint
    kind: str
    ends: tuple[_End, _End]

    @property
    def corners(self) -> np.ndarray:
        """The four corners of its curve, which leaves and arrives upright, (4, 2)."""
        a, b = self.ends
        (xa, ya), (xb, yb) = a.point, b.point
        if a.box is not None and b.box is not None and a.box.layer == b.box.layer:
            lift = 0.35 + 0.15 * abs(xa - xb)
            return np.array([a.point, (xa, ya + lift), (xb, yb + lift), b.point])
        half = 0.5 * (yb - ya)
        return np.array([a.point, (xa, ya + half), (xb, yb - half), b.point])

    def at(self, t: float) -> tuple[float, float]:
        """The point of its curve at t in [0, 1]."""
        x, y = np.array([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3]) @ self.corners
        return float(x), float(y)


def draw_graph(mechanism: Mechanism | System) -> Figure:
    """Parts and joints of a mechanism: solid lines make its tree, dashed ones are cut and close loops.

    A dotted line is a joint that leaves all free. Beside the end of a line stands the section of the rod.
    """
    if isinstance(mechanism, System):
        mechanism = mechanism.mechanism
    if not isinstance(mechanism, Mechanism):
        raise BadInput(f"{describe(mechanism)} cannot be drawn as a graph: give a Mechanism or a System")
    boxes, edges = _lay_out(mechanism)
    grounded = any(end.box is None for edge in edges for end in edge.ends)
    kinds = {edge.kind for edge in edges}
    left = min(box.x - box.room / 2 for box in boxes) - 0.25
    right = max(box.x + box.room / 2 for box in boxes) + 0.25
    spare = max(0.0, 0.6 + 1.5 * len(kinds) - (right - left)) / 2  # room for the words below
    left, right = left - spare, right + spare
    bottom = -0.75 if grounded else min(box.y for box in boxes) - 0.8
    top = max(box.y for box in boxes) + 0.85
    with style():
        figure = plt.figure(figsize=(right - left, top - bottom))
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set(xlim=(left, right), ylim=(bottom, top))
        axes.axis("off")
        if grounded:
            _draw_ground(axes, left + 0.2, right - 0.2)
        for edge in edges:
            _draw_edge(axes, edge)
        for box in boxes:
            _draw_box(axes, box)
        _draw_names(axes, boxes, edges)
        _draw_words(axes, mechanism, kinds, (left + 0.2, bottom, top))
    return figure


# Layout ----------------------------------------------------------------------------------------------------


def _lay_out(mechanism: Mechanism) -> tuple[list[_Box], list[_Edge]]:
    tree, layers = mechanism.tree, _layers(mechanism)
    boxes: dict[Any, _Box] = {}
    for part in mechanism.parts:
        names = [_width(_name(joint)) for joint in mechanism.joints if part in (joint.a.part, joint.b.part)]
        width = max(_width(part.name), 0.82 * _width(_detail(part))) + 0.3
        if len(names) > 2:
            width = max(width, 0.6 * len(names))
        boxes[part] = _Box(part, layers[part], width, max(width, *names) + _GAP)
    carries = {branch.joint for branch in tree.branches}
    edges = []
    for joint in mechanism.joints:
        kind = "tree" if joint in carries else "cut" if joint in tree.cuts else "free"
        ends = [_End(frame, boxes.get(frame.part)) for frame in (joint.a, joint.b)]
        edges.append(_Edge(joint, kind, (ends[0], ends[1])))
    _spread(list(boxes.values()), edges)
    _attach(edges)
    return list(boxes.values()), edges


def _layers(mechanism: Mechanism) -> dict[Part, int]:
    """Layer of each part, the ground being 0: upwards from the ground, downwards from a floating root."""
    tree = mechanism.tree
    depth: dict[object, int] = {tree.root.part: 0, "world": 0}
    floats: set[object] = {tree.root.part} if tree.floating else set()
    for branch in tree.branches:
        depth[branch.child.part] = depth[branch.parent.part] + 1
        if branch.parent.part in floats:
            floats.add(branch.child.part)
    highest = 1 + max((depth[part] for part in floats), default=0)
    return {part: highest - depth[part] if part in floats else depth[part] for part in mechanism.parts}


def _spread(boxes: list[_Box], edges: list[_Edge]) -> None:
    """Place boxes at the mean of their neighbours above and below, in order and without overlap."""
    neighbours: dict[_Box, list[_Box]] = {box: [] for box in boxes}
    for edge in edges:
        a, b = (end.box for end in edge.ends)
        if a is not None and b is not None and a.layer != b.layer:
            neighbours[a].append(b)
            neighbours[b].append(a)
    rows = [[box for box in boxes if box.layer == layer] for layer in sorted({box.layer for box in boxes})]
    # Sweeps settle within a few passes; the first keeps the order of the tree.
    for sweep in range(12):
        for row in rows:
            wanted = {box: float(np.mean([other.x for other in neighbours[box] or [box]])) for box in row}
            if sweep:
                row.sort(key=wanted.__getitem__)
            free = -np.inf
            for box in row:
                box.x = max(wanted[box], free + box.room / 2)
                free = box.x + box.room / 2
            shift = float(np.mean([box.x - wanted[box] for box in row]))
            for box in row:
                box.x -= shift


def _attach(edges: Iterable[_Edge]) -> None:
    """Where lines meet boxes: spread along the top and the bottom, in the order of the other ends."""
    sides: dict[tuple[_Box, bool], list[tuple[float, _End]]] = {}
    for edge in edges:
        for end, other in (edge.ends, edge.ends[::-1]):
            if end.box is not None:
                end.up = other.box is not None and other.box.layer >= end.box.layer
                x = end.box.x if other.box is None else other.box.x
                sides.setdefault((end.box, end.up), []).append((x, end))
    for (box, up), ends in sides.items():
        reach = 0.5 * box.width - 0.22 if len(ends) > 1 else 0.0
        ends.sort(key=lambda pair: pair[0])
        for (_, end), x in zip(ends, np.linspace(-reach, reach, len(ends))):
            end.point = box.x + float(x), box.y + (0.5 if up else -0.5) * _BOX
    for edge in edges:
        for end, other in (edge.ends, edge.ends[::-1]):
            if end.box is None:
                end.point = other.point[0], 0.0


def _name(joint: Joint) -> str:
    """Name of a joint, with its kind below it if the name does not say it."""
    name = str(joint.name)
    return name if name.startswith(joint.kind) else f"{name}\n{joint.kind}"


def _width(text: str) -> float:
    return _CHARACTER * max(map(len, text.split("\n")))


def _detail(part: Part) -> str:
    if isinstance(part, Rod):
        return f"{part.length:.4g} m, {part.n} coordinates"
    return f"{part.mass:.4g} kg" if part.mass else "massless"


# Drawing ---------------------------------------------------------------------------------------------------


def _draw_edge(axes: Axes, edge: _Edge) -> None:
    line, colour, width, _ = _TIE[edge.kind]
    path = Path(edge.corners, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
    axes.add_patch(PathPatch(path, facecolor="none", edgecolor=colour, linestyle=line, linewidth=width, zorder=2))
    for end, other in (edge.ends, edge.ends[::-1]):
        x, y = end.point
        if end.box is not None:
            axes.plot(x, y, "o", color=colour, markersize=4, zorder=4)
        if isinstance(end.frame.part, Rod):
            # The section, on the side from which the curve turns away.
            where = end.frame.label.rpartition(" at ")[2].replace("s = ", "")
            side, align = (-1, "right") if other.point[0] > x + 0.05 else (1, "left")
            y += 0.13 if end.up else -0.13
            small: dict[str, Any] = {"fontsize": 7.5, "color": COLOURS["grey"], "style": "italic", "zorder": 5}
            axes.text(x + 0.07 * side, y, where, ha=align, va="center", **small)


def _draw_names(axes: Axes, boxes: Iterable[_Box], edges: Iterable[_Edge]) -> None:
    """The name of each joint on its line, where it covers no box and no other name."""
    taken = [(box.x, box.y, box.width, _BOX) for box in boxes]

    def covered(place: tuple[float, float, float, float]) -> float:
        x, y, w, h = place
        return sum(
            max(0.0, (w + other_w) / 2 - abs(x - other_x)) * max(0.0, (h + other_h) / 2 - abs(y - other_y))
            for other_x, other_y, other_w, other_h in taken
        )

    for edge in edges:
        name = _name(edge.joint)
        size = _width(name), 0.16 * (1 + name.count("\n"))
        # Best near the narrower box: lines crowd at a wide one.
        narrow = [np.inf if end.box is None else end.box.width for end in edge.ends]
        best = 0.5 if np.isinf(max(narrow)) or narrow[0] == narrow[1] else 0.4 if narrow[0] < narrow[1] else 0.6
        tried = sorted(np.linspace(0.2, 0.8, 25), key=lambda t: abs(t - best))
        places = [(*edge.at(t), *size) for t in (best, *tried)]
        place = min(places, key=lambda place: round(covered(place), 3))
        taken.append(place)
        white = {"facecolor": "white", "edgecolor": "none", "pad": 1.2}
        look: dict[str, Any] = {"fontsize": 8.5, "color": _TIE[edge.kind][1], "bbox": white, "zorder": 6}
        axes.text(place[0], place[1], name, ha="center", va="center", linespacing=1.1, **look)


def _draw_box(axes: Axes, box: _Box) -> None:
    face, rim = _ROD if isinstance(box.part, Rod) else _BODY
    corner = (box.x - box.width / 2, box.y - _BOX / 2)
    rounding = 0.24 if isinstance(box.part, Rod) else 0.06
    shape = f"round,pad=0,rounding_size={rounding}"
    axes.add_patch(
        FancyBboxPatch(corner, box.width, _BOX, shape, facecolor=face, edgecolor=rim, linewidth=1.5, zorder=3)
    )
    axes.text(box.x, box.y + 0.085, box.part.name, ha="center", va="center", weight="bold", fontsize=10, zorder=5)
    axes.text(box.x, box.y - 0.115, _detail(box.part), ha="center", va="center", fontsize=7.5, zorder=5)


def _draw_ground(axes: Axes, left: float, right: float) -> None:
    size, steel = (right - left, 0.16), COLOURS["steel"]
    axes.add_patch(Rectangle((left, -size[1]), *size, facecolor="white", edgecolor=steel, hatch="/////", linewidth=0))
    axes.plot([left, right], [0, 0], color=steel, linewidth=2.0, solid_capstyle="butt", zorder=3)


def _draw_words(axes: Axes, mechanism: Mechanism, kinds: set[str], extent: tuple[float, float, float]) -> None:
    """What it is, above; what the base does and what lines mean, below."""
    left, bottom, top = extent
    title, base = mechanism.explain().splitlines()[:2]
    axes.text(left, top - 0.2, title, fontsize=11, weight="bold", va="center")
    axes.text(left, bottom + 0.38, base, fontsize=8.5, color=COLOURS["grey"], va="center")
    axes.legend(
        handles=[
            Line2D([], [], linestyle=line, color=colour, linewidth=width, label=meaning)
            for kind, (line, colour, width, meaning) in _TIE.items()
            if kind in kinds
        ],
        loc="lower left",
        bbox_to_anchor=(left - 0.02, bottom + 0.04),
        bbox_transform=axes.transData,
        ncols=len(_TIE),
        fontsize=8.5,
        handlelength=2.2,
        columnspacing=1.4,
        borderaxespad=0.0,
        borderpad=0.0,
    )
