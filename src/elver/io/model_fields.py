"""What a model file may hold: groups of types, the sections of a file, schemes and gaits.

Keys are the names of the constructors' arguments. What a key of a class holds, and in which unit, is said once, at the
field itself, by :func:`elver.values.of_kind`; files, their schema and the words of reports take it from there.
"""

from __future__ import annotations

import dataclasses

__all__ = ["GAITS", "GROUPS", "METHODS", "SECTIONS", "STUDY_FIELDS", "kinds_of", "unit_of"]

GROUPS: dict[str, tuple[str, ...]] = {
    "material": ("Material",),
    "section": ("Circle", "Tube", "Ellipse", "Rectangle", "Section"),
    "basis": ("Legendre", "Chebyshev", "PiecewiseConstant", "PiecewiseLinear", "Piecewise", "Sampled"),
    "law": ("FullLaw",),
    "integration": ("Magnus", "RungeKuttaMuntheKaas", "Spectral"),
    "rod": ("Rod",),
    "body": ("RigidBody",),
    "part": ("Rod", "RigidBody"),
    "shape": ("Box", "Cylinder", "EllipticCylinder", "Sphere"),
    "base": ("Clamped", "Free", "Driven"),
    "motion": ("Motion",),
    "frame": ("Frame",),
    "hold": ("Hold",),
    "joint": ("Fixed", "Revolute", "Prismatic", "Cylindrical", "Universal", "Spherical", "Planar", "Floating"),
    "path": ("Parallel", "Convergent", "Helical", "Route"),
    "wave": ("TravellingWave", "CurvatureWave"),
    "function": ("Table", "Taper", "Stepped", "WaveTarget"),
    "signal": ("Ramp", "SmoothStep", "C2Ramp", "Sine", "SampledSignal", "Triangle", "Sum", "Within", "Table"),
    "actuator": ("Tendon", "SpooledTendon", "Muscle", "Pressure", "Motor", "Imposed"),
    "load": (
        "Gravity", "PointWrench", "DistributedWrench", "Morison", "Lighthill", "Buoyancy", "JointSpring",
        "JointFriction", "JointStop", "RotorInertia", "SlidingFriction",
    ),
    "state": ("State",),
    "study": ("equilibrium", "continuation", "simulation"),
}  # fmt: skip
GROUPS["target"] = (*GROUPS["joint"], "Rod")

# Sections of a file whose entries have names, with the group of their types; the order is that of a saved file.
SECTIONS: dict[str, str] = {
    "materials": "material",
    "sections": "section",
    "bases": "basis",
    "functions": "function",
    "paths": "path",
    "shapes": "shape",
    "waves": "wave",
    "rods": "rod",
    "bodies": "body",
    "frames": "frame",
    "motions": "motion",
    "joints": "joint",
    "holds": "hold",
    "actuators": "actuator",
    "loads": "load",
    "signals": "signal",
}

# Time schemes by name: their classes need the compiled core, which looking at a file must not load.
METHODS = (
    "Newmark", "GeneralizedAlpha", "HHT", "ImplicitMidpoint", "GaussLegendre4", "Conserving", "RungeKutta4",
    "SemiImplicitEuler", "Adaptive",
)  # fmt: skip

STUDY_FIELDS: dict[str, dict[str, str]] = {
    "equilibrium": {"tolerance": "1", "max_iterations": "int"},
    "continuation": {
        "over": "rates", "stop": "same", "start": "same", "step": "1|rad", "max_points": "int", "tolerance": "1",
    },
    "simulation": {
        "duration": "s", "step": "s @method", "method": "@method", "state": "text @state", "start": "text",
        "every": "int",
    },
}  # fmt: skip

# Functions that a file may call, with their arguments.
GAITS: dict[str, dict[str, str]] = {
    "joint_gait": {"joints": "chain", "wave": "@wave", "stations": "m", "offset": "rad @signal"},
    "rod_gait": {"rod": "@rod", "wave": "@wave", "strain": "text"},
    "muscle_gait": {"rod": "@rod", "wave": "@wave", "strain": "text"},
}

# Words of a kind that are no unit.
_NO_UNITS = {"1", "int", "bool", "text", "any", "same", "frame", "guides", "pose", "rotation", "world"}
_POWERS = str.maketrans({"^": "", "2": "²", "3": "³", "4": "⁴"})


def kinds_of(cls: type) -> dict[str, str]:
    """Kinds of the keys of a class: what :func:`elver.values.of_kind` says of its fields."""
    own = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()
    return {field.name: field.metadata["kind"] for field in own if "kind" in field.metadata}


def unit_of(cls: type, key: str) -> str:
    """Unit of a key of a class as it is printed, the first where there are several; empty where it has none."""
    words = [word for word in kinds_of(cls).get(key, "").split(" @")[0].split(" ") if word not in ("text", "free")]
    unit = " ".join(words).split("|")[0]
    return "" if unit in _NO_UNITS or unit.startswith("@") else unit.translate(_POWERS)
