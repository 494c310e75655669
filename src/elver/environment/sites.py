"""Where a load takes hold: the frame of a rigid body, or of one section of a rod, without an offset."""

from __future__ import annotations

from typing import Any

import numpy as np

from elver.errors import BadInput
from elver.mechanism import Frame, as_frame
from elver.rods.fields import check_name

__all__ = ["check_label", "check_site"]


def check_label(kind: str, name: Any) -> str:
    """How messages speak of a load of this kind, whose name may have been left out."""
    return kind if name is None else f"{kind} {check_name(kind, name)!r}"


def check_site(label: str, on: Any) -> Frame:
    """``on`` as the frame of a body or section; the world and offsets are refused."""
    frame = as_frame(on)
    if isinstance(frame.part, str):
        raise BadInput(f'{label}: acts on the world, which does not move; give a body, (rod, "tip") or (rod, s in m)')
    if not np.array_equal(frame.g, np.eye(4)):
        raise BadInput(
            f"{label}: the frame on {frame.label} has an offset; give the body or section itself, "
            "or fix a massless body there and give that"
        )
    return frame
