"""The common rod in other tools: Exudyn's 3-D beam and planar cable, and PyElastica; and a two-rod loop in Exudyn.

Nothing is imported before it is asked for. Each is used as its makers show it, with the settings that served it
best: Exudyn with Euler parameters, sparse matrices and modified Newton (generalised-α 0.95); PyElastica with the
clamp in the middle of its first element, which keeps its second order (clamped as documented, the first element is
rigid and the order is one), at a given part of its stable step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

MODULE = {"exudyn-3d": "exudyn", "exudyn-planar": "exudyn", "pyelastica": "elastica"}
LENGTH, RADIUS, YOUNG, SHEAR, DENSITY, CORRECTION = 1.0, 0.01, 5e7, 5e7 / 3.0, 1000.0, 27 / 28
GRAVITY, INSTANT = 9.81, 0.01


def installed(module: str) -> bool:
    return find_spec(module) is not None


def stiffnesses() -> tuple[float, float, float, float, float]:
    """A [m²], I [m⁴], EI [N m²], EA [N], k G A [N]."""
    A, I = np.pi * RADIUS**2, np.pi * RADIUS**4 / 4.0
    return A, I, YOUNG * I, YOUNG * A, CORRECTION * SHEAR * A


def first_that_reaches(
    accuracy: float, attempt: Callable[..., tuple[float, float]], settings: Sequence[tuple[Any, ...]]
) -> float | None:
    """Cost of the first setting whose error is within ``accuracy``, the better of two runs; None if none is.

    ``attempt(*setting)`` returns (cost, error). A run that a tool gives up is a setting that does not reach.
    """
    for setting in settings:
        try:
            cost, error = attempt(*setting)
        except Exception:  # the tools raise what they like where they do not converge
            continue
        if error <= accuracy:
            return min(cost, attempt(*setting)[0])
    return None


# Exudyn -----------------------------------------------------------------------------------------------------

Built = tuple[Any, Any, int, Sequence[int]]


def exudyn_3d(n: int, gravity: bool) -> Built:
    """n geometrically exact 3-D beam elements: container, system, tip node, axes of the tip in our order."""
    import exudyn as exu
    import exudyn.itemInterface as item

    A, I, EI, EA, kGA = stiffnesses()
    container = exu.SystemContainer()
    system = container.AddSystem()
    section = exu.BeamSection()
    section.stiffnessMatrix = np.diag([EA, kGA, kGA, SHEAR * 2.0 * I, EI, EI])
    section.inertia = DENSITY * np.diag([2.0 * I, I, I])
    section.massPerLength = DENSITY * A
    nodes = [
        system.AddNode(item.NodeRigidBodyEP(referenceCoordinates=[LENGTH * k / n, 0, 0, 1, 0, 0, 0]))
        for k in range(n + 1)
    ]
    for k in range(n):
        beam = item.ObjectBeamGeometricallyExact(nodeNumbers=nodes[k : k + 2], length=LENGTH / n, sectionData=section)
        marker = system.AddMarker(item.MarkerBodyMass(bodyNumber=system.AddObject(beam)))
        if gravity:
            system.AddLoad(item.LoadMassProportional(markerNumber=marker, loadVector=[0, 0, -GRAVITY]))
    ground = system.AddNode(item.NodePointGround())
    ends = [system.AddMarker(item.MarkerNodeRigid(nodeNumber=node)) for node in (ground, nodes[0])]
    system.AddObject(item.ObjectJointGeneric(markerNumbers=ends))
    return container, system, nodes[-1], (0, 1, 2)


def exudyn_planar(n: int, gravity: bool) -> Built:
    """n planar ANCF cable elements (bending and stretch, no shear), in the plane xy of Exudyn."""
    import exudyn as exu
    import exudyn.itemInterface as item
    from exudyn.beams import GenerateBeamElementsAlongLine

    A, _, EI, EA, _ = stiffnesses()
    container = exu.SystemContainer()
    system = container.AddSystem()
    cable = item.ObjectANCFCable2D(massPerLength=DENSITY * A, bendingStiffness=EI, axialStiffness=EA)
    made = GenerateBeamElementsAlongLine(
        system, [0, 0, 0], [LENGTH, 0, 0], n, beamTemplate=cable,
        gravity=[0, -GRAVITY if gravity else 0, 0], groundConstraintsStart=[1, 1, 0, 1],
    )  # fmt: skip
    return container, system, made["nodes"][-1], (0, 2, 1)


def _exudyn_settings() -> Any:
    import exudyn as exu

    settings = exu.SimulationSettings()
    settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    settings.solution.file.write = False
    settings.staticSolver.verboseMode = settings.timeIntegration.verboseMode = 0
    return settings


def exudyn_static(build: Callable[[int, bool], Built], n: int, force: float) -> tuple[float, np.ndarray]:
    """CPU seconds of the solve alone, and the tip, under a tip force along y [N]."""
    import exudyn as exu
    import exudyn.itemInterface as item

    _container, system, tip, _ = build(n, False)
    marker = system.AddMarker(item.MarkerNodePosition(nodeNumber=tip))
    system.AddLoad(item.LoadForceVector(markerNumber=marker, loadVector=[0, force, 0]))
    system.Assemble()
    settings = _exudyn_settings()
    settings.staticSolver.numberOfLoadSteps = 5
    settings.staticSolver.newton.relativeTolerance = 1e-8  # its 3-D beam fails at 1e-10 with 64 elements or more
    start = time.process_time()
    system.SolveStatic(settings)
    seconds = time.process_time() - start
    return seconds, np.array(system.GetNodeOutput(tip, exu.OutputVariableType.Position))


def exudyn_release(
    build: Callable[[int, bool], Built], n: int, step: float, duration: float
) -> tuple[float, np.ndarray]:
    """CPU seconds of the time integration alone, and the tip every 10 ms."""
    import exudyn as exu
    import exudyn.itemInterface as item

    _container, system, tip, axes = build(n, True)
    position = exu.OutputVariableType.Position
    sensor = system.AddSensor(item.SensorNode(nodeNumber=tip, storeInternal=True, outputVariableType=position))
    system.Assemble()
    settings = _exudyn_settings()
    integration = settings.timeIntegration
    integration.endTime, integration.numberOfSteps = duration, round(duration / step)
    integration.generalizedAlpha.spectralRadius = 0.95
    integration.newton.useModifiedNewton = True
    settings.solution.sensors.writePeriod = INSTANT
    start = time.process_time()
    system.SolveDynamic(settings)
    seconds = time.process_time() - start
    return seconds, system.GetSensorStoredData(sensor)[:, 1:][:, axes]


def exudyn_loop(
    n: int, step: float, duration: float, instant: float, distance: float, length: float,
    mass_per_length: float, EI: float, EA: float,
    torque_left: Callable[[float], float], torque_right: Callable[[float], float],
) -> tuple[float, np.ndarray]:  # fmt: skip
    """CPU seconds of the time integration alone, and the common tip every ``instant`` [s], of two rods of n cables.

    Each is hinged to the ground at x = ∓distance/2 and driven there by a torque [N m]; their tips are hinged together.
    Bent rods that hardly stretch lock in the default quadrature; with the mixed Lobatto rule three elements do as well
    as six. The torques are set once per step: user functions of a load are called in every iteration.
    """
    import exudyn as exu
    import exudyn.itemInterface as item
    from exudyn.beams import GenerateBeamElementsAlongLine

    container = exu.SystemContainer()
    system = container.AddSystem()
    cable = item.ObjectANCFCable2D(
        massPerLength=mass_per_length, bendingStiffness=EI, axialStiffness=EA, useReducedOrderIntegration=2
    )
    apex = [0, np.sqrt(length**2 - 0.25 * distance**2), 0]
    rods = [
        GenerateBeamElementsAlongLine(
            system, [x, 0, 0], apex, n, beamTemplate=cable, groundConstraintsStart=[True, True, False, False]
        )
        for x in (-0.5 * distance, 0.5 * distance)
    ]
    loads = []
    for made in rods:
        base = system.AddMarker(item.MarkerBodyRigid(bodyNumber=made["elements"][0], localPosition=[0, 0, 0]))
        loads.append(system.AddLoad(item.LoadTorqueVector(markerNumber=base, loadVector=[0, 0, 0])))
    tips = [made["nodes"][-1] for made in rods]
    for axis in (0, 1):
        ends = [system.AddMarker(item.MarkerNodeCoordinate(nodeNumber=tip, coordinate=axis)) for tip in tips]
        system.AddObject(item.ObjectConnectorCoordinate(markerNumbers=ends))

    def drive(system: Any, t: float) -> bool:  # t is the end of the step
        system.SetLoadParameter(loads[0], "loadVector", [0, 0, torque_left(t)])
        system.SetLoadParameter(loads[1], "loadVector", [0, 0, torque_right(t)])
        return True

    system.SetPreStepUserFunction(drive)
    position = exu.OutputVariableType.Position
    sensor = system.AddSensor(item.SensorNode(nodeNumber=tips[0], storeInternal=True, outputVariableType=position))
    system.Assemble()
    settings = _exudyn_settings()
    integration = settings.timeIntegration
    integration.endTime, integration.numberOfSteps = duration, round(duration / step)
    integration.generalizedAlpha.spectralRadius = 0.9
    integration.newton.useModifiedNewton = True
    # forces of the axial stiffness at rest are rounded at 1e-10 N: asked for that, it halves its step without end
    integration.newton.absoluteTolerance = integration.newton.relativeTolerance = 1e-6
    integration.adaptiveStep = False
    settings.solution.sensors.writePeriod = instant
    start = time.process_time()
    system.SolveDynamic(settings)
    seconds = time.process_time() - start
    return seconds, system.GetSensorStoredData(sensor)[:, 1:]


# PyElastica -------------------------------------------------------------------------------------------------


def elastica_release(n: int, part: float, duration: float) -> tuple[float, np.ndarray]:
    """CPU seconds of the time integration alone, and the tip every 10 ms; ``part`` of the stable step."""
    import elastica as ea

    class Simulator(ea.BaseSystemCollection, ea.Constraints, ea.Forcing):
        pass

    element = LENGTH / (n - 0.5)  # the clamp is the middle of the first element
    rod = ea.CosseratRod.straight_rod(
        n, np.array([-0.5 * element, 0.0, 0.0]), np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]),
        n * element, RADIUS, DENSITY, youngs_modulus=YOUNG, shear_modulus=SHEAR,
    )  # fmt: skip
    simulator = Simulator()
    simulator.append(rod)
    simulator.constrain(rod).using(ea.OneEndFixedBC, constrained_position_idx=(0,), constrained_director_idx=(0,))
    simulator.add_forcing_to(rod).using(ea.GravityForces, acc_gravity=np.array([0.0, 0.0, -GRAVITY]))
    simulator.finalize()

    # explicit: below the period of a section turning against shear, and of a wave crossing an element
    turning, crossing = RADIUS / np.sqrt(SHEAR / DENSITY), element / np.sqrt(YOUNG / DENSITY)
    count = int(np.ceil(INSTANT / (part * min(turning, crossing))))
    stepper, t, step = ea.PositionVerlet(), np.float64(0.0), np.float64(INSTANT / count)
    tips = [rod.position_collection[:, -1].copy()]
    start = time.process_time()
    for _ in range(round(duration / INSTANT)):
        for _ in range(count):
            t = stepper.step(simulator, t, step)
        tips.append(rod.position_collection[:, -1].copy())
    return time.process_time() - start, np.array(tips)
