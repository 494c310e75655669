"""Starter files: small commented models that run as they are."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from elver.errors import BadInput

__all__ = ["STARTERS", "write_starter"]

_HEAD = """\
# {title}
#
#   elver check {name}.toml       read it and say what it describes
#   elver run {name}.toml         do the study below, write {name}.nc
#
# A bare number is in SI units and radians; a text may have its own unit: "8 mm", "1 MPa", "30 deg".
# Every [section.NAME] is a part that others refer to by its name.
elver = 1
title = "{title}"
"""

_ROD = """
[materials.steel]
young = "210 GPa"
poisson = 0.3
density = "7800 kg/m^3"
damping = "1 ms"                  # Kelvin-Voigt

[rods.rod]
length = "1 m"
section = { type = "Circle", radius = "1 mm" }
material = "steel"
# How the strain may vary along the rod: functions of bending and of torsion.
basis = { type = "Legendre", bending = 5, torsion = 3 }

[mechanism]
clamped = "rod"                   # the base, x along the rod; z is up

[loads.gravity]
type = "Gravity"

[loads.tip-force]
type = "PointWrench"
part = "rod"
at = "tip"
force = [0, "0.2 N", 0]           # in world axes; frame = "section" would follow the rod

[inputs]
# The input of a load is a factor: the force is let go between 0.5 s and 0.6 s.
tip-force = { type = "SmoothStep", t0 = 0.5, t1 = 0.6, before = 1.0, after = 0.0 }

[study]
kind = "simulation"
state = "equilibrium"             # begin in balance with the inputs at 0 s; "rest" is the straight rod
duration = "2 s"
step = "10 ms"
"""

_TENDON_ARM = """
[materials.silicone]
young = "1 MPa"
poisson = 0.45
density = "1070 kg/m^3"
damping = "20 ms"

[rods.arm]
length = "40 cm"
section = { type = "Circle", radius = { type = "Taper", base = "10 mm", tip = "6 mm" } }
material = "silicone"
basis = { type = "Legendre", bending = 4, torsion = 2 }

[mechanism]
clamped = "arm"
# Hanging: the arm points down.
pose = { position = [0, 0, 0], axis = "y", angle = "90 deg" }

# Three tendons; "like" begins from another part and changes what is given.
[actuators.front]
type = "Tendon"
rod = "arm"
path = { type = "Parallel", y = 0.0, z = "5 mm" }

[actuators.left]
like = "front"
path = { y = "4.33 mm", z = "-2.5 mm" }

[actuators.right]
like = "front"
path = { y = "-4.33 mm", z = "-2.5 mm" }

[loads.gravity]
type = "Gravity"

[inputs]
# Tensions. A number stays; signals are Ramp, SmoothStep, C2Ramp, Sine, Triangle and SampledSignal.
front = { type = "SmoothStep", t0 = "0 s", t1 = "0.5 s", after = "2 N" }
left = { type = "Sine", mean = "0.5 N", amplitude = "0.5 N", frequency = "1 Hz" }
right = "0.2 N"
# left = { type = "SampledSignal", file = "left.csv" }      times [s] and tensions [N] beside this file

[study]
kind = "simulation"
duration = "2 s"
step = "10 ms"
"""

_PARALLEL = """
[materials.steel]
young = "210 GPa"
shear = "80 GPa"
density = "7800 kg/m^3"

# Two rods in the plane xy, which turn and bend about z.
[rods.left]
length = "1 m"
section = { type = "Circle", radius = "1 mm" }
material = "steel"
basis = { type = "Legendre", bending_z = 3 }

[rods.right]
like = "left"

# Joints connect two frames: "world", a body, [rod, "tip"], [rod, "20 cm"], or ["world", [x, y, z]].
[joints.left-motor]
type = "Revolute"
a = ["world", ["-20 cm", 0, 0]]
b = ["left", "base"]
start = "90 deg"                  # where assembly begins

[joints.right-motor]
like = "left-motor"
a = ["world", ["20 cm", 0, 0]]
b = ["right", "base"]

[joints.hinge]                    # closes the loop
type = "Revolute"
a = ["left", "tip"]
b = ["right", "tip"]

[actuators.tau-left]
type = "Motor"
joint = "left-motor"

[actuators.tau-right]
type = "Motor"
joint = "right-motor"

[inputs]
# Torques that fold the robot.
tau-left = { type = "SmoothStep", t0 = "0.2 s", t1 = "1.2 s", after = "-0.5 N m" }
tau-right = { type = "SmoothStep", t0 = "0.2 s", t1 = "1.2 s", after = "0.5 N m" }

[study]
kind = "simulation"
state = "equilibrium"
duration = "2 s"
step = "10 ms"
method = { type = "GeneralizedAlpha", rho_inf = 0.6 }
"""

_EEL = """
[materials.flesh]
young = "10 MPa"
poisson = 0.0
density = "1000 kg/m^3"

[rods.eel]                        # from nose to tail
length = "1 m"
section = { type = "Circle", radius = "5 cm" }
material = "flesh"
basis = { type = "Legendre", bending_z = 8 }

[mechanism]
free = "eel"                      # nothing holds it

# Water along the slender body: added mass, flow and tail (Lighthill). Morison has drag and slices instead.
[loads.water]
type = "Lighthill"
parts = ["eel"]
fluid_density = "1000 kg/m^3"

# A wave of curvature from head to tail: (a0 + a1 s + a2 s^2) sin 2 pi (s/wavelength - t/period).
[waves.swim]
type = "CurvatureWave"
coefficients = [1.0, 0.5, 2.0]
wavelength = "1 m"
period = "1 s"
ramp = { type = "C2Ramp", t0 = "0 s", t1 = "1 s" }

# Muscles that aim at the wave, with their inputs. "rod_gait" would impose it and give the efforts.
[gaits.muscles]
type = "muscle_gait"
rod = "eel"
wave = "swim"
strain = "K_z"

[study]
kind = "simulation"
duration = "4 s"
step = "10 ms"
"""

STARTERS: dict[str, tuple[str, str]] = {
    "rod": ("A steel rod, loaded at its tip and let go", _ROD),
    "tendon-arm": ("A hanging silicone arm with three tendons", _TENDON_ARM),
    "parallel-robot": ("Two rods on motors, hinged at their tips", _PARALLEL),
    "eel": ("A swimmer driven by muscles", _EEL),
}


def write_starter(kind: str, file: Path | None, *, force: bool = False) -> None:
    """Write the starter file of this kind."""
    if kind not in STARTERS:
        raise BadInput(f"no starter is called {kind!r}; choose among {', '.join(STARTERS)}")
    target = file or Path(f"{kind}.toml")
    if target.exists() and not force:
        raise BadInput(f"{target}: is there already; choose another name, or replace it with --force")
    title, body = STARTERS[kind]
    try:
        target.write_text(_HEAD.format(title=title, name=target.stem) + body, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{target}: cannot be written ({error.strerror}); choose another folder") from None
    console = Console(highlight=False)
    console.print(f"[green]written[/green]  {target}", soft_wrap=True)
    console.print(f"    next:  elver run {target}", soft_wrap=True)
