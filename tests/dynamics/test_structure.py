"""A design with other numbers in the structure of the first is the same robot as one assembled by itself."""

import pickle
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import elver as ev
from elver.dynamics.core import Core, core
from elver.dynamics.states import arrays
from elver.dynamics.structure import program_of
from elver.kernels.tree.program import Program

RUBBER = ev.Material(young=1.0e6, poisson=0.45, density=1070.0, damping=0.02)


class Numbers:
    """Random numbers near those that a robot was drawn with; those themselves for the first design."""

    def __init__(self, seed: int | None) -> None:
        self.random = None if seed is None else np.random.default_rng(seed)

    def __call__(self, value: float, by: float = 0.2) -> float:
        return value if self.random is None else value * float(self.random.uniform(1.0 - by, 1.0 + by))

    def vector(self, *values: float, by: float = 0.05) -> tuple[float, ...]:
        if self.random is None:
            return values
        return tuple(value + float(self.random.uniform(-by, by)) for value in values)


def material(n: Numbers, mass_damping: float = 0.0) -> ev.Material:
    return ev.Material(
        young=n(1e6), poisson=n(0.4, 0.1), density=n(1070.0), damping=n(0.02), mass_damping=n(mass_damping)
    )  # fmt: skip


def arm(n: Numbers) -> ev.System:
    """Two rods in a row with a tool, tendons to the end of each, loads and a spring, offsets that may be zero."""
    upper = ev.Rod(n(0.4), ev.Circle(n(8e-3)), material(n), ev.Legendre(bending=4, torsion=2), name="upper")
    lower = ev.Rod(n(0.3), ev.Circle(n(6e-3)), material(n, 0.3), ev.Legendre(bending=3, torsion=1), name="lower")
    tool = ev.RigidBody(mass=n(0.02), inertia=(n(1e-5), n(1e-5), n(1.2e-5)), name="tool")
    foot = ev.Fixed("world", ev.Frame(upper, "base", pose=n.vector(0.0, 0.0, 0.0)), name="foot")
    elbow = ev.Revolute(
        ev.Frame(upper, "tip", pose=n.vector(0.0, 0.0, 0.0)), ev.Frame(lower, "base", pose=(0.0, n(0.01), 0.0)),
        axis="y", name="elbow",
    )  # fmt: skip
    wrist = ev.Fixed(ev.Frame(lower, "tip"), ev.Frame(tool, pose=n.vector(0.0, 0.0, 0.02)), name="wrist")
    tendons = [
        ev.Tendon(upper, path=ev.parallel(z=n(6e-3)), name="bend"),
        ev.Tendon(lower, path=ev.parallel(y=n(5e-3)), name="twist"),
        ev.Motor(elbow, name="motor"),
    ]
    loads = [
        ev.Gravity(n.vector(0.0, 0.0, -9.81)),
        ev.PointWrench(upper, at=n(0.17, 0.9), force=n.vector(0.0, 0.1, 0.0), name="push"),
        ev.PointWrench(tool, force=n.vector(0.0, 0.0, 0.1), name="pull"),
        ev.JointSpring(elbow, stiffness=n(0.5), rest=n(0.1), name="spring"),
    ]
    return ev.System(ev.Mechanism([foot, elbow, wrist]), actuators=tendons, loads=loads)


def parallel(n: Numbers) -> ev.System:
    """A planar loop of two rods and two motors, of which rows out of the plane repeat others."""
    rods, hinges = [], []
    for side, x in (("left", -0.2), ("right", 0.2)):
        rods.append(ev.Rod(n(1.0, 0.05), ev.Circle(n(1e-3)), material(n), ev.Legendre.planar(3), name=f"{side}-rod"))
        foot = ("world", (n(x, 0.05), n(0.1), 0.0))
        hinges.append(ev.Revolute(foot, (rods[-1], "base"), name=f"{side}-hinge", start=n(1.5708, 0.05)))
    apex = ev.Revolute((rods[0], "tip"), (rods[1], "tip"), name="apex")
    return ev.System(ev.Mechanism([*hinges, apex]), actuators=[ev.Motor(hinge, name=hinge.name) for hinge in hinges])


def swimmer(n: Numbers) -> ev.System:
    """A floating rod with a head, in water, with a distributed load."""
    rod = ev.Rod(n(0.4), ev.Ellipse(n(0.02), n(0.01)), material(n), ev.Legendre(bending=3), name="body")
    head = ev.RigidBody(mass=n(0.1), inertia=(n(1e-4), n(1e-4), n(1e-4)), name="head")
    neck = ev.Fixed(head, ev.Frame(rod, "base", pose=n.vector(0.02, 0.0, 0.0, by=0.01)), name="neck")
    water = ev.Morison(fluid_density=n(1000.0), drag=(0.01, n(1.0), n(1.0), n(1.0)), parts=[rod], name="water")
    wind = ev.DistributedWrench(rod, force=n.vector(0.0, 0.2, 0.0), name="wind")
    return ev.System(ev.Mechanism([neck], base=ev.Free(), root=head), loads=[ev.Gravity(), water, wind])


ROBOTS = [arm, parallel, swimmer]


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.ElverWarning)
        yield


def state_near_rest(system: ev.System, seed: int) -> tuple[Any, np.ndarray]:
    random, kernels = np.random.default_rng(seed), core(system)
    a = arrays(system.rest())
    scale = kernels.assembly.scale[kernels.coordinates - kernels.n :]
    a.q[:] += 0.3 * scale * random.normal(size=a.q.shape)
    a.twist[:] += random.normal(size=a.twist.shape) if system.free else 0.0
    a.multipliers[:] = random.normal(size=a.multipliers.shape)
    return a, random.normal(size=system.input_size)


@pytest.mark.parametrize("make", ROBOTS)
@pytest.mark.parametrize("seed", range(8))
def test_designs_of_one_structure_are_the_robots_that_they_describe(
    make: Callable[[Numbers], ev.System], seed: int
) -> None:
    structure = ev.structure_of(make(Numbers(None)))
    system = make(Numbers(seed))
    reused = Core(make(Numbers(seed)), structure)
    alone = core(system)
    a, u = state_near_rest(system, seed)
    for there, here in ((alone.residual(a, u), reused.residual(a, u)),
                        (alone.tangent(a, u, (0.7, 1.3, 0.4)), reused.tangent(a, u, (0.7, 1.3, 0.4)))):  # fmt: skip
        assert here == pytest.approx(there, rel=0.0, abs=1e-12 * np.max(np.abs(there)))  # rounding
    assert [array.shape for array in reused.values] == list(structure.shapes)
    assert reused.structure == structure


@pytest.mark.parametrize("make", ROBOTS)
def test_values_of_the_first_design_are_its_own(make: Callable[[Numbers], ev.System]) -> None:
    system = make(Numbers(None))
    structure = ev.structure_of(system)
    program, values = core(system).program, ev.values_of(structure, make(Numbers(None)))
    program = program._replace(path=program.path[:0])  # made with the dense matrix, not of the values
    for name, own, again in zip(Program._fields, program, program_of(structure, values), strict=True):
        assert own.shape == again.shape, name
        assert own.tobytes() == again.tobytes(), name


@pytest.mark.parametrize("make", ROBOTS)
def test_structures_are_equal_by_content_and_survive_pickling(make: Callable[[Numbers], ev.System]) -> None:
    structure = ev.structure_of(make(Numbers(None)))
    other = pickle.loads(pickle.dumps(structure))
    again = ev.structure_of(make(Numbers(None)))
    assert structure == other == again
    assert len({structure, other, again}) == 1
    assert structure != ev.structure_of(ROBOTS[ROBOTS.index(make) - 1](Numbers(None)))
    values = ev.values_of(other, make(Numbers(3)))
    carried = pickle.loads(pickle.dumps(values))
    assert all(np.array_equal(a, b) for a, b in zip(values, carried, strict=True))


def test_nobody_changes_structure_or_values() -> None:
    system = arm(Numbers(None))
    structure = ev.structure_of(system)
    for array in (*structure.layout, *ev.values_of(structure, arm(Numbers(1))), *core(system).program):
        assert not array.flags.writeable
    with pytest.raises(AttributeError):
        structure.offsets = ()  # type: ignore[misc]


def test_threads_find_the_same_values_of_many_designs() -> None:
    structure = ev.structure_of(arm(Numbers(None)))
    serial = [ev.values_of(structure, arm(Numbers(seed))) for seed in range(12)]
    found: dict[int, Any] = {}

    def some(first: int) -> None:
        with warnings.catch_warnings():
            for seed in range(first, 12, 4):
                found[seed] = ev.values_of(structure, arm(Numbers(seed)))

    threads = [threading.Thread(target=some, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed, one in enumerate(serial):
        assert all(a.tobytes() == b.tobytes() for a, b in zip(one, found[seed], strict=True))


def test_places_may_pass_quadrature_points_and_each_other() -> None:
    def rod(first: float, second: float) -> ev.System:
        own = ev.Rod(0.4, ev.Circle(8e-3), RUBBER, ev.Legendre(bending=4), name="rod")
        loads = [ev.PointWrench(own, at=s, force=(0.0, f, 0.0)) for s, f in ((first, 0.1), (second, -0.2))]
        return ev.System(ev.Mechanism.clamped(own), loads=loads)

    structure = ev.structure_of(rod(0.1, 0.3))
    for first, second in ((0.31, 0.12), (0.2, 0.2), (0.4, 0.05), (0.0, 0.4)):
        bent = ev.equilibrium(rod(first, second))
        system = rod(first, second)
        core(system, structure)
        again = ev.equilibrium(system)
        assert again.tip == pytest.approx(bent.tip, abs=1e-9)  # two nodes in one place, or one: quadrature is the same


def test_nodes_are_apart_where_a_load_is_on_a_quadrature_point() -> None:
    def rod(at: float) -> ev.System:
        own = ev.Rod(0.4, ev.Circle(8e-3), RUBBER, ev.Legendre(bending=4), nodes=11, name="rod")
        return ev.System(ev.Mechanism.clamped(own), loads=[ev.PointWrench(own, at=at, force=(0.0, 0.1, 0.0))])

    middle = rod(0.2)
    assert np.all(np.diff(ev.nodes(middle)) > 0.0)
    structure = ev.structure_of(middle)
    assert ev.values_of(structure, rod(0.2)).load_frame == core(middle).program.load_frame
    with pytest.raises(ev.BadInput, match=r"rod 'rod': point wrench at s = 0\.21 m shares .* a quadrature point"):
        ev.values_of(structure, rod(0.21))


def test_a_tendon_may_end_elsewhere() -> None:
    def rod(end: float) -> ev.System:
        own = ev.Rod(0.4, ev.Circle(8e-3), RUBBER, ev.Legendre(bending=6), name="rod")
        tendon = ev.Tendon(own, path=ev.parallel(z=6e-3), end=end, name="tendon")
        return ev.System(ev.Mechanism.clamped(own), actuators=[tendon])

    structure = ev.structure_of(rod(0.2))
    for end in (0.17, 0.21, 0.24):
        system = rod(end)
        core(system, structure)
        bent, again = (ev.equilibrium(one, {"tendon": 2.0}) for one in (rod(end), system))
        assert again.tip == pytest.approx(bent.tip, abs=1e-8)  # truncation: other numbers of quadrature points


# What is no design ------------------------------------------------------------------------------------------


def simple(**changed: Any) -> ev.System:
    given = {"name": "arm", "basis": ev.Legendre(bending=4), "at": 0.2, "other": 0.4, "load": "push", "pose": None,
             "mass_damping": 0.0, "end": 0.4, "length": 0.4} | changed  # fmt: skip
    material = ev.Material(young=1e6, poisson=0.45, density=1070.0, mass_damping=given["mass_damping"])
    rod = ev.Rod(given["length"], ev.Circle(8e-3), material, given["basis"], name=given["name"])
    foot = ev.Fixed("world", ev.Frame(rod, "base", pose=given["pose"]), name="foot")
    loads = [ev.PointWrench(rod, at=given["at"], force=(0, 0, 1.0), name=given["load"])]
    loads += [ev.PointWrench(rod, at=given["other"], force=(0, 0, 1.0), name="other")]
    loads += [ev.Gravity()] if given.get("gravity") else []
    tendon = ev.Tendon(rod, path=ev.parallel(z=6e-3), end=given["end"], name="tendon")
    return ev.System(ev.Mechanism([foot]), actuators=[tendon], loads=loads)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"name": "leg"}, "Rod 'leg'.*Rod 'arm'"),
        ({"basis": ev.Legendre(bending=3)}, "Rod 'arm'"),
        ({"load": "pull"}, "PointWrench 'pull'.*PointWrench 'push'"),
        ({"gravity": True}, "Gravity 'gravity'.* is not in the structure"),
        ({"pose": (0.0, 0.0, 0.01)}, "'foot' has an offset that the structure has no room for: give a pose, be it"),
        ({"mass_damping": 0.1}, "rod 'arm' has mass damping"),
        ({"other": 0.3}, "rod 'arm': other at s = 0.3 m shares its place"),
        ({"end": 0.3}, "rod 'arm': .*structure"),
    ],
)
def test_what_is_no_design_is_refused_by_name(changed: dict[str, Any], words: str) -> None:
    structure = ev.structure_of(simple())
    with pytest.raises(ev.BadInput, match=words) as told:
        ev.values_of(structure, simple(**changed))
    assert "structure" in str(told.value)


def test_a_part_that_is_missing_is_named() -> None:
    with pytest.raises(ev.BadInput, match="Gravity 'gravity' is in the structure and not here"):
        ev.values_of(ev.structure_of(simple(gravity=True)), simple())


def test_an_offset_of_zero_leaves_room_for_another() -> None:
    structure = ev.structure_of(simple(pose=(0.0, 0.0, 0.0)))
    values = ev.values_of(structure, simple(pose=(0.0, 0.0, 0.01)))
    assert values.fixed[0, 3].tolist() == [0.0, 0.0, -0.01]  # the base of the rod as seen from its joint


def test_closure_rows_that_repeat_others_are_part_of_the_structure() -> None:
    def loop(tilt: float) -> ev.System:
        rods, hinges = [], []
        for side, x in (("left", -0.2), ("right", 0.2)):
            rods.append(ev.Rod(1.0, ev.Circle(1e-3), RUBBER, ev.Legendre.planar(3), name=f"{side}-rod"))
            turned = np.eye(4)
            turned[:3, 3] = x, 0.0, 0.0
            if side == "right":
                turned[1:3, 1:3] = [[np.cos(tilt), -np.sin(tilt)], [np.sin(tilt), np.cos(tilt)]]
            hinges.append(ev.Revolute(("world", turned), (rods[-1], "base"), name=f"{side}-hinge", start=1.5708))
        apex = ev.Spherical((rods[0], "tip"), (rods[1], "tip"), name="apex")
        return ev.System(ev.Mechanism([*hinges, apex]), actuators=[ev.Motor(hinge) for hinge in hinges])

    flat = ev.structure_of(loop(0.0))
    assert flat.dropped == ("apex/force_z",)
    with pytest.raises(ev.BadInput, match="the closure row apex/force_z is redundant in the structure, not here"):
        ev.values_of(flat, loop(0.1))


def test_a_system_keeps_the_structure_in_which_it_was_computed_first() -> None:
    system = simple(pose=(0.0, 0.0, 0.0))
    ev.equilibrium(system)
    with pytest.raises(ev.BadInput, match="structure of its own"):
        core(system, ev.structure_of(simple()))


@pytest.mark.parametrize("wrong", ["arm", None, 3])
def test_what_is_no_system_or_structure_is_refused(wrong: Any) -> None:
    with pytest.raises(ev.BadInput, match="structure_of: system"):
        ev.structure_of(wrong)
    with pytest.raises(ev.BadInput, match="values_of: structure"):
        ev.values_of(wrong, simple())
    with pytest.raises(ev.BadInput, match="values_of: system"):
        ev.values_of(ev.structure_of(simple()), wrong)
