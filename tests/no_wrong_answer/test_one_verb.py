"""Issue 11, section 5: one object, one verb; and values that print in two lines."""

import copy

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import elver as ev
from elver import io
from elver.words import brief, describe

matplotlib.use("agg")

silicone = ev.Material(young=1.0e6, poisson=0.45, density=1070.0)
arm = ev.Rod(0.4, ev.Circle(8e-3), silicone, ev.Legendre(bending=3, torsion=1), name="arm")
tendon = ev.Tendon(arm, path=ev.parallel(z=6e-3))
system = ev.System(ev.Mechanism.clamped(arm), [tendon], [ev.Gravity()])
steel = ev.Material(young=210e9, shear=80e9, density=7800.0)
left, right = (ev.Rod(1.0, ev.Circle(1e-3), steel, ev.Legendre.kirchhoff(2), name=side) for side in ("left", "right"))
hinge = ev.Revolute(("world", (-0.2, 0, 0)), (left, "base"), start=np.pi / 2)
other = ev.Revolute(("world", (0.2, 0, 0)), (right, "base"), start=np.pi / 2)
loop = ev.System(ev.Mechanism([ev.Spherical((left, "tip"), (right, "tip")), hinge, other]), [ev.Motor(hinge)])


@pytest.fixture(scope="module")
def things():
    found = ev.equilibrium(system, {tendon: 3.0})
    return {"system": system, "equilibrium": found, "run": ev.simulate(system, found, duration=0.04, step=0.02)}


@pytest.mark.parametrize("kind", ["system", "equilibrium", "run"])
class TestOneVerb:
    def test_show(self, kind, things):
        figure = ev.show(things[kind])
        assert len(figure.findobj(matplotlib.axes.Axes)) >= (1 if kind != "run" else 3)
        plt.close(figure)

    def test_report(self, kind, things, tmp_path):
        text = ev.report(things[kind], tmp_path / "page.html").read_text(encoding="utf-8")
        assert 'id="scene"' in text

    def test_animate(self, kind, things, tmp_path):
        film = ev.animate(things[kind], tmp_path / "film.gif", still=tmp_path / "still.png", dpi=40, fps=5.0)
        assert film.stat().st_size > 0

    def test_save_and_load(self, kind, things, tmp_path):
        again = ev.load(ev.save(things[kind], tmp_path / "run.nc"))
        assert again.sizes["time"] == (3 if kind == "run" else 1)
        assert again["arm/position"].shape[-1] == 3

    def test_save_plots(self, kind, things, tmp_path):
        assert ev.save_plots(things[kind], tmp_path / "plots", format="svg")


def test_energy_poses_and_modes_take_systems_equilibria_and_runs(things):
    """Of a run they are those of its last instant, with the inputs of that instant; bit for bit in a run of a file."""
    run = things["run"]
    assert ev.energy(run).total == pytest.approx(float(run["energy/total"][-1]), rel=1e-12)
    assert ev.poses(run)[-1, :3, 3] == pytest.approx(run["arm/tip/position"].values[-1], abs=1e-12)
    balanced, moving = ev.modes(things["equilibrium"]), ev.modes(run)
    with pytest.warns(ev.ElverWarning, match="not in balance"):
        at_rest = ev.modes(system)
    assert moving.frequencies == pytest.approx(balanced.frequencies, rel=1e-6)  # the run stays in its equilibrium
    assert at_rest.frequencies[0] != pytest.approx(balanced.frequencies[0], rel=1e-3)
    last = ev.state_at(system, run)
    assert np.array_equal(ev.mass_matrix(run), ev.mass_matrix(system, last))
    assert np.array_equal(ev.momentum(system, run), ev.momentum(system, last))


def test_a_system_is_shown_at_rest_and_an_equilibrium_as_it_stands(things):
    rest, bent = ev.still(system), ev.still(things["equilibrium"])
    assert rest["arm/tip/position"].values[0] == pytest.approx([0.4, 0.0, 0.0], abs=1e-12)
    assert bent["arm/tip/position"].values[0] == pytest.approx(things["equilibrium"].tip[:3, 3], abs=1e-12)
    assert bent.attrs["stable"] is True
    assert "stable" not in rest.attrs


def test_a_system_with_loops_is_shown_closed():
    run = ev.still(loop)
    assert run["left/tip/position"].values == pytest.approx(run["right/tip/position"].values, abs=1e-8)


def test_dynamics_functions_take_systems_and_equilibria(things):
    found = things["equilibrium"]
    assert ev.energy(found).elastic > ev.energy(system).elastic == 0.0
    assert ev.poses(found)[-1] == pytest.approx(found.tip)
    assert ev.modes(found).frequencies[0] > 0.0


# Reprs ---------------------------------------------------------------------------------------------------------------


def values():
    found = ev.equilibrium(system, {tendon: 3.0})
    branch = ev.continuation(system, tendon, 1.0)
    body = ev.RigidBody(0.1, (1e-4, 1e-4, 1e-4), name="hand", shape=ev.Sphere(0.02))
    joint = ev.Revolute("world", body, name="wrist")
    wave = ev.CurvatureWave((1.0, 0.5), wavelength=1.0, period=1.0, ramp=ev.c2_ramp(0.0, 1.0))
    return {
        "System": system,
        "loop": loop, "Mechanism": loop.mechanism, "Rod": arm, "Equilibrium": found, "State": found.state,
        "Stability": ev.stability(system, found), "Modes": ev.modes(found), "LinearModel": ev.linearize(found),
        "Tendon": tendon, "SpooledTendon": ev.SpooledTendon(arm, ev.parallel(z=6e-3)),
        "PointWrench": ev.PointWrench(arm, force=(0, 0, 1)),
        "DistributedWrench": ev.DistributedWrench(arm, (0, 0, 1)), "Muscle": ev.Muscle(arm, (0, 0, 1)),
        "Pressure": ev.Pressure(arm, 1e-4), "Motor": ev.Motor(joint), "Imposed": ev.Imposed(joint),
        "Gravity": ev.Gravity(), "Morison": ev.Morison([arm]), "Buoyancy": ev.Buoyancy(),
        "Lighthill": ev.Lighthill([arm]), "JointSpring": ev.JointSpring(joint, 1.0),
        "Hold": ev.Hold(position=(0, 0, 1)), "Revolute": joint, "Frame": ev.Frame(arm, "tip"), "RigidBody": body,
        "Clamped": ev.Clamped(), "Free": ev.Free(), "Driven": ev.Driven(ev.Motion(lambda t: np.eye(4))),
        "Circle": ev.Circle(8e-3), "Material": silicone,
        "Sampled": ev.Sampled(tuple(np.linspace(0, 0.4, 50)), bending_y=[[x] for x in range(50)]),
        "sampled": ev.sampled(np.arange(50.0), np.arange(50.0)), "CurvatureWave": wave, "Branch": branch,
        "InverseStatics": ev.inverse_statics(system, (None, None, -0.05)),
        "Section": ev.Section(1e-4, 1e-9, 1e-9, 2e-9), "Singularity": ev.singularity(system, found),
        "sum": ev.sum_of(1.0, ev.ramp(0, 1), ev.sine(0, 1, 1)), "tangent": ev.tangent_inverse_dynamics(found),
        "forward": ev.tangent_forward_dynamics(found), "problem": ev.RodProblem.of(system),
        "solution": ev.solve_rod(system), "shape": ev.rod_equilibrium(system), "grid": arm.grid,
        "properties": arm.section_properties([0.0, 0.1]), "Energy": ev.energy(found),
    }  # fmt: skip


def test_values_print_in_two_lines():
    for name, value in values().items():
        text = repr(value)
        assert len(text) <= 240, f"{name}: {len(text)} characters: {text}"
        assert text.count("\n") <= 1, f"{name}: {text}"


def test_the_repr_of_an_equilibrium_says_what_matters():
    text = repr(ev.equilibrium(system, {tendon: 3.0}))
    assert "'arm'" in text
    assert "stable" in text
    assert " m, tendon = 3" in text
    assert repr(arm).startswith("Rod 'arm': 0.4 m long, Circle(radius=0.008), 1e+06 Pa, 7 coordinates")


def test_a_run_says_its_method_in_full(things):
    """Reprs of methods are stored with runs: they stay those of the dataclass."""
    said = things["run"].attrs["method"]
    kind, _, _ = said.partition("(")
    assert repr(eval(said, {kind: getattr(ev, kind)})) == said


def test_nothing_stored_depends_on_a_repr():
    assert io.dumps(io.loads(io.dumps(loop))) == io.dumps(loop)
    assert repr(copy.deepcopy(arm)) == repr(arm)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (arm, "the Rod 'arm'"), (ev.Rod, "the class Rod, not a value made with it"), (None, "None"), (5.0, "5.0"),
        ("arm", "'arm'"), ("x" * 100, "'" + "x" * 57 + "...'"), ([5.0], "[5.0]"), ([arm, arm], "a list of 2 (Rod)"),
        (np.zeros((3, 4)), "an array of shape (3, 4)"), ({"a": 1}, "a dict with 'a'"), (system, "a System"),
        (np.sin, "the function sin"), (ev.equilibrium, "the function equilibrium"),
    ],
)  # fmt: skip
def test_described(value, words):
    assert describe(value) == words


def test_brief_leaves_out_defaults_and_cuts():
    from dataclasses import dataclass

    @brief
    @dataclass
    class Thing:
        a: float
        b: str = "x"
        c: tuple[str, ...] = ()

    assert repr(Thing(1.0)) == "Thing(a=1)"
    assert repr(Thing(1.0, b="y")) == "Thing(a=1, b='y')"
    assert len(repr(Thing(1.0, c=tuple("long text " * 3 for _ in range(5))))) <= 240
