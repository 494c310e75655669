"""Drawing runs with matplotlib: rods and bodies in space, the way of the tip, the energy, an animation.

    show(run)                                        the three in one figure
    shape_3d(run), tip_history(run), energy(run)     one of them, alone or in axes of yours
    animate(run, "arm.gif", still="arm.png")         rods and bodies, shaded, over time

``run`` is the dataset that ``simulate`` returns or ``io.load`` reads. Every function returns its figure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from elver.lazy import lazy

_HOME = {
    "animation": "animate",
    "plots": "energy shape_3d show tip_history",
    "style": "COLOURS style",
}

__all__ = lazy(__name__, _HOME)

if TYPE_CHECKING:
    from elver.viz.animation import animate
    from elver.viz.plots import energy, shape_3d, show, tip_history
    from elver.viz.style import COLOURS, style
