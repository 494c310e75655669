"""What a model file may hold: one table of the units and kinds of all keys, and the sections of a file.

Files, their schema and the words of reports take units from here.

Keys are the names of the constructors' arguments. The kind of a key is a text of words:

    m, Pa, "rad|m"    a quantity in these units (SI when a bare number), or a list of such
    any               numbers in SI units
    same              numbers in the unit of what the value is for, such as the input of a tendon
    int, bool, text   as said
    @group            another value: its name in the file, or a table with a type of that group
    frame, pose, rotation, guides   places and directions, see the page "Model files"
    rates             the name of an input, or a table of names with the rate of each
"""

from __future__ import annotations

__all__ = ["FIELDS", "GROUPS", "METHODS", "SECTIONS", "STUDY_FIELDS", "kind_of", "unit_of"]

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

# Integrators with their keys; the classes need the compiled core, which looking at a file must not load.
_METHOD = {"group": "text", "tolerance": "1", "max_iterations": "int", "halvings": "int"}
METHODS: dict[str, dict[str, str]] = {
    "Newmark": {**_METHOD, "beta": "1", "gamma": "1"},
    "GeneralizedAlpha": {**_METHOD, "rho_inf": "1"},
    "HHT": {**_METHOD, "rho_inf": "1"},
    "ImplicitMidpoint": _METHOD,
    "GaussLegendre4": _METHOD,
    "Conserving": {**_METHOD, "rho_inf": "1", "order": "int"},
    "RungeKutta4": _METHOD,
    "SemiImplicitEuler": _METHOD,
    "Adaptive": {"tolerance": "1", "first": "s", "largest": "s", "smallest": "s"},
}

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

_STIFFNESS, _VISCOUS = "N m/rad|N m|N/m", "N m s/rad|N m s|N s/m"

FIELDS: dict[str, str] = {
    # rods
    "young": "Pa", "density": "kg/m^3", "poisson": "1", "shear": "Pa", "damping": "s", "mass_damping": "1/s",
    "length": "m", "section": "@section", "material": "@material", "basis": "@basis", "name": "text", "nodes": "int",
    "Rod.rest": "any @function", "integration": "@integration", "order": "int",
    "law": "@law", "FullLaw.stiffness": "any",
    "radius": "m @function", "outer": "m @function", "inner": "m @function", "half_y": "m @function",
    "half_z": "m @function", "width_y": "m @function", "width_z": "m @function", "shear_correction": "1",
    "torsion_constant": "m^4 @function", "I_y": "m^4 @function", "I_z": "m^4 @function", "I_polar": "m^4 @function",
    "Section.area": "m^2 @function", "EA": "N @function", "EI_y": "N m^2 @function", "EI_z": "N m^2 @function",
    "GJ": "N m^2 @function", "GA_y": "N @function", "GA_z": "N @function", "Section.mass": "kg/m @function",
    "Section.inertia": "kg m @function",
    "bending": "int", "torsion": "int", "stretch": "int", "bending_y": "int", "bending_z": "int",
    "shear_y": "int", "shear_z": "int", "Legendre.shear": "int", "Chebyshev.shear": "int",
    "elements": "any", "strains": "text", "s": "m",
    "Sampled.torsion": "any", "Sampled.bending_y": "any", "Sampled.bending_z": "any", "Sampled.stretch": "any",
    "Sampled.shear_y": "any", "Sampled.shear_z": "any",
    "x": "any", "Table.values": "any", "variable": "text", "note": "text",
    "Taper.base": "same", "Taper.tip": "same", "Stepped.values": "same @function", "Stepped.at": "m", "breaks": "m",
    # bodies
    "mass": "kg", "inertia": "kg m^2", "centre": "m", "shape": "@shape", "size": "m", "half_axes": "m",
    "Cylinder.axis": "text", "EllipticCylinder.axis": "text", "Cylinder.radius": "m", "Sphere.radius": "m",
    # mechanism
    "joints": "@joint", "base": "@base", "holds": "@hold", "root": "frame", "motion": "@motion",
    "pose": "pose", "Motion.pose": "@function", "twist": "@function", "acceleration": "m/s^2",
    "Motion.acceleration": "@function", "Motion.step": "s",
    "part": "@part", "Frame.part": "world @part", "at": "m text", "position": "m free", "orientation": "rotation",
    "orientation_axes": "text", "a": "frame", "b": "frame", "axis": "text 1", "start": "rad|m", "cut": "bool",
    # actuation
    "rod": "@rod", "Tendon.rod": "guides", "SpooledTendon.rod": "guides", "path": "@path",
    "Tendon.start": "m", "SpooledTendon.start": "m", "Pressure.start": "m", "end": "m", "reach": "m",
    "area": "m^2", "torque": "any @function", "target": "any @function", "Imposed.target": "@target",
    "joint": "@joint", "coordinate": "text", "y": "m", "z": "m", "Helical.radius": "m", "turns": "1", "phase": "rad",
    "function": "@function", "derivative": "@function",
    "t0": "s", "t1": "s", "before": "same", "after": "same", "mean": "same @signal", "amplitude": "same",
    "frequency": "Hz", "ramp": "@signal", "times": "s", "values": "same", "peak": "same", "t_peak": "s",
    "t_end": "s", "t_start": "s", "terms": "same @signal", "signal": "same @signal",
    "TravellingWave.amplitude": "rad", "growth": "1/m", "wavelength": "m",
    "period": "s", "coefficients": "any", "wave": "@wave", "strain": "text", "WaveTarget.shape": "text",
    # surroundings
    "parts": "@part", "fluid_density": "kg/m^3", "drag": "1", "added_mass": "1", "flow": "m/s", "stations": "int",
    "stiffness": _STIFFNESS, "rest": "rad|m", "viscous": _VISCOUS, "dry": "N m|N", "speed": "rad/s|m/s",
    "SlidingFriction.viscous": "N s/m", "SlidingFriction.dry": "N", "SlidingFriction.speed": "m/s",
    "lower": "rad|m", "upper": "rad|m", "RotorInertia.inertia": "kg m^2|kg", "on": "frame",
    "force": "N", "moment": "N m", "frame": "text",
    "DistributedWrench.force": "N/m @function", "DistributedWrench.moment": "N m/m|N @function",
    "DistributedWrench.start": "m",
    # states
    "q": "any", "q_dot": "any", "q_ddot": "any", "g": "pose", "eta": "any", "eta_dot": "any", "multipliers": "any",
    "time": "s",
    # gaits
    "joint_gait.joints": "chain", "joint_gait.stations": "m", "offset": "rad @signal",
}  # fmt: skip


def kind_of(type_name: str, key: str) -> str:
    """Kind of a key of a type; empty where a model file has no such key."""
    return FIELDS.get(f"{type_name}.{key}", FIELDS.get(key, ""))


# Words of a kind that are no unit.
_NO_UNITS = {"1", "int", "bool", "text", "any", "same", "frame", "guides", "pose", "rotation", "chain", "world", "rates"}
_POWERS = str.maketrans({"^": "", "2": "²", "3": "³", "4": "⁴"})


def unit_of(type_name: str, key: str) -> str:
    """Unit of a key of a type as it is printed, the first where there are several; empty where it has none."""
    words = [word for word in kind_of(type_name, key).split(" @")[0].split(" ") if word not in ("text", "free")]
    unit = " ".join(words).split("|")[0]
    return "" if unit in _NO_UNITS or unit.startswith("@") else unit.translate(_POWERS)
