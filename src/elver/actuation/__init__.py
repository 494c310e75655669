"""Actuation: tendons, muscles, pressure chambers, motors, imposed motion, signals in time, and gaits."""

from elver.actuation.gaits import CurvatureWave, TravellingWave, WaveTarget, joint_gait, muscle_gait, rod_gait
from elver.actuation.imposed import Imposed, MotionSignal
from elver.actuation.motor import Motor
from elver.actuation.muscle import Muscle
from elver.actuation.paths import (
    Convergent,
    Helical,
    Parallel,
    Path,
    Route,
    convergent,
    helical,
    parallel,
    route,
)
from elver.actuation.pressure import Pressure
from elver.actuation.signals import (
    C2Ramp,
    Ramp,
    SampledSignal,
    Signal,
    Sine,
    SmoothSignal,
    SmoothStep,
    Triangle,
    c2_ramp,
    evaluate,
    ramp,
    sampled,
    sine,
    smooth_step,
    triangle,
)
from elver.actuation.tendon import SpooledTendon, Tendon

__all__ = [
    "C2Ramp",
    "Convergent",
    "CurvatureWave",
    "Helical",
    "Imposed",
    "MotionSignal",
    "Motor",
    "Muscle",
    "Parallel",
    "Path",
    "Pressure",
    "Ramp",
    "Route",
    "SampledSignal",
    "Signal",
    "Sine",
    "SmoothSignal",
    "SmoothStep",
    "SpooledTendon",
    "Tendon",
    "TravellingWave",
    "Triangle",
    "WaveTarget",
    "c2_ramp",
    "convergent",
    "evaluate",
    "helical",
    "joint_gait",
    "muscle_gait",
    "parallel",
    "ramp",
    "rod_gait",
    "route",
    "sampled",
    "sine",
    "smooth_step",
    "triangle",
]
