"""Actuation: tendons, muscles, pressure chambers, motors, imposed motion, signals in time, and gaits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elver.lazy import lazy

_HOME = {
    "active_stress": "ActiveStress",
    "gaits": "CurvatureWave TravellingWave WaveTarget joint_gait muscle_gait rod_gait",
    "imposed": "Imposed MotionSignal",
    "motor": "Motor",
    "muscle": "Muscle",
    "paths": "Convergent Helical Parallel Path Route convergent helical parallel route",
    "pressure": "Pressure",
    "signals": (
        "C2Ramp Ramp SampledSignal Signal Sine SmoothSignal SmoothStep Sum Triangle Within c2_ramp evaluate "
        "ramp sampled sine smooth_step sum_of triangle within"
    ),
    "tendon": "SpooledTendon Tendon",
}

__all__ = lazy(__name__, _HOME)

if TYPE_CHECKING:
    from elver.actuation.active_stress import ActiveStress
    from elver.actuation.gaits import CurvatureWave, TravellingWave, WaveTarget, joint_gait, muscle_gait, rod_gait
    from elver.actuation.imposed import Imposed, MotionSignal
    from elver.actuation.motor import Motor
    from elver.actuation.muscle import Muscle
    from elver.actuation.paths import Convergent, Helical, Parallel, Path, Route, convergent, helical, parallel, route
    from elver.actuation.pressure import Pressure
    from elver.actuation.signals import (
        C2Ramp,
        Ramp,
        SampledSignal,
        Signal,
        Sine,
        SmoothSignal,
        SmoothStep,
        Sum,
        Triangle,
        Within,
        c2_ramp,
        evaluate,
        ramp,
        sampled,
        sine,
        smooth_step,
        sum_of,
        triangle,
        within,
    )
    from elver.actuation.tendon import SpooledTendon, Tendon
