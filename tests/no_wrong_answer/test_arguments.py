"""Issue 11, section 5, first bullet: every public function, given the wrong kind of thing, says so in good words.

Each public callable has one good call in ``CALLS``; its first two arguments are replaced by what people put there by
mistake. Either that works, or :class:`BadInput` names what was given by its kind (never by a nested repr).
"""

import re
from functools import partial
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import elver as ev
from elver.errors import BadInput

matplotlib.use("agg")

silicone = ev.Material(young=1.0e6, poisson=0.45, density=1070.0)
arm = ev.Rod(0.4, ev.Circle(8e-3), silicone, ev.Legendre(bending=2), name="arm")
tendon = ev.Tendon(arm, path=ev.parallel(z=6e-3))
mechanism = ev.Mechanism.clamped(arm)
system = ev.System(mechanism, [tendon], [ev.Gravity()])
link = ev.RigidBody(0.1, name="link")
hinge = ev.Revolute("world", link)
wave = ev.CurvatureWave((1.0, 0.5), wavelength=1.0, period=1.0)
turning = ev.TravellingWave(0.1, 0.0, 1.0, 1.0)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """What computations give: an equilibrium, a run and its file."""
    found = ev.equilibrium(system, {tendon: 1.0})
    run = ev.simulate(system, found, duration=0.02, step=0.01)
    return {"found": found, "run": run, "file": ev.save(run, tmp_path_factory.mktemp("run") / "run.nc")}




def a_law(strain, s, parameters, stress, slope):
    """A law of one's own."""
    energy = 0.0
    for k in range(6):
        stress[k], slope[k, k] = strain[k], 1.0
        energy += 0.5 * strain[k] ** 2
    return energy


def a_stress(xi, s, input, parameters, stress, slope):
    """An actuator of one's own."""
    stress[1] = input


def a_load(g, eta, input, parameters, wrench, slope):
    """A load of one's own."""
    wrench[3] = input


# name: arguments of a good call. A text in braces stands for what is made in the tests.
CALLS = {
    "ActiveStress": (arm, a_stress), "FrameLoad": ((arm, "tip"), a_load), "FullLaw": (np.eye(6),), "Law": (a_law,),
    "compiled": (a_law,), "explain": (system,),
    "Box": ((0.1, 0.1, 0.1),), "Buoyancy": ([arm],), "Chebyshev": (2,), "Circle": (0.01,), "Clamped": (np.eye(4),),
    "ContinuationStudy": ("tendon", 1.0), "CurvatureWave": ((1.0, 0.5), 1.0, 1.0), "Cylinder": (0.1, 0.2),
    "Cylindrical": ("world", link), "DistributedWrench": (arm, (0.0, 0.0, 1.0)), "Ellipse": (0.01, 0.02),
    "EllipticCylinder": ((0.1, 0.2), 0.3), "Feedback": ((arm, "tip"), lambda t, motion: np.zeros(6)),
    "Fixed": ("world", link), "Floating": ("world", link), "Frame": (arm, "tip"), "Free": (np.eye(4),),
    "Conserving": (0.8,), "GeneralizedAlpha": (0.8,), "Gravity": ((0.0, 0.0, -9.81),), "HHT": (0.8,),
    "Hold": ("tip", (0.1, 0.0, 0.0)),
    "Imposed": (hinge,), "JointFeedback": ([hinge], lambda t, q, q_dot: np.zeros(1)), "JointFriction": (hinge, 0.1),
    "JointSpring": (hinge, 1.0), "Legendre": (2,), "Lighthill": ([arm], 1000.0), "MDHRow": (0.0, 0.1, 0.0, 0.0),
    "Magnus": (6,), "Material": (1e6, 1000.0, 0.4), "Mechanism": ([hinge],), "Morison": ([arm], 1000.0),
    "Motion": (lambda t: np.eye(4),), "Motor": (hinge,), "Muscle": (arm, (0.0, 0.0, 1.0)), "Newmark": (0.25, 0.5),
    "Piecewise": (ev.Legendre(2), 2), "PiecewiseConstant": (4,), "PiecewiseLinear": (4,), "Planar": ("world", link),
    "PointWrench": (arm, "tip"), "Pressure": (arm, 1e-4), "Prismatic": ("world", link), "Rectangle": (0.01, 0.02),
    "Revolute": ("world", link), "RigidBody": (0.1, (1e-4, 1e-4, 1e-4)),
    "Rod": (0.4, ev.Circle(8e-3), silicone, ev.Legendre(2)), "RotorInertia": (hinge, 1e-4),
    "RunFile": ("{path}.nc",), "Sampled": ((0.0, 0.4), None, [[1.0], [2.0]]), "Stepped": ((0.01, 0.02), (0.2,)),
    "Section": (1e-4, 1e-9, 1e-9, 2e-9), "SlidingFriction": ((arm, "tip"), 0.1), "Sphere": (0.1,),
    "Spherical": ("world", link), "SpooledTendon": (arm, ev.parallel(z=6e-3)),
    "State": (np.zeros(4), np.zeros(4), np.zeros(4)), "System": (mechanism, [tendon]), "Taper": (0.01, 0.005),
    "Tendon": (arm, ev.parallel(z=6e-3)), "TravellingWave": (0.1, 0.0, 1.0, 1.0), "Tube": (0.02, 0.01),
    "Universal": ("world", link), "animate": ("{run}", "{path}.gif"), "assemble": (system, {}),
    "bias_forces": (system, system.rest()), "c2_ramp": (0.0, 1.0),
    "compare_methods": (system, {tendon: 1.0}, ("modes",)), "convergent": (0.0, 0.01),
    "continuation": (system, tendon, 0.1), "draw_graph": (mechanism,), "energy": (system, system.rest()),
    "equilibrium": (system, {}), "equilibria": (system, {}, 1),
    "forward_dynamics": (system, system.rest()), "helical": (0.005, 1.0),
    "inverse_dynamics": (system, system.rest()), "inverse_statics": (system, (None, None, -0.05)),
    "joint_gait": ([hinge], turning, [0.0, 1.0]), "linearize": (system, system.rest()), "load": ("{file}",),
    "mass_matrix": (system, system.rest()), "mdh_chain": (["world", link], [ev.MDHRow(0.0, 0.1, 0.0, 0.0)]),
    "modes": ("{found}",), "momentum": (system, system.rest()), "muscle_gait": (arm, wave), "nodes": (system, arm),
    "parallel": (0.0, 0.005), "poses": (system, system.rest()), "ramp": (0.0, 1.0),
    "report": ("{run}", "{path}.html"), "check_resolution": ("{found}",),
    "reactions": ("{found}",), "sample": ("{found}", "arm"),
    "rod_equilibrium": (system, {tendon: 1.0}, "modes"), "rod_gait": (arm, wave),
    "route": (lambda s: (0 * s, 0 * s),), "sampled": ([0.0, 1.0], [0.0, 1.0]), "save": ("{run}", "{path}.nc"),
    "save_model": ("{path}.toml", system), "save_plots": ("{run}", "{path}"), "show": ("{run}",),
    "simulate": (system, system.rest(), 0.01, 0.01), "sine": (0.0, 1.0, 1.0), "singularity": (system, "{found}"),
    "smooth_step": (0.0, 1.0), "solve_rod": (system, {tendon: 1.0}), "stability": (system, "{found}"),
    "state_at": (system, "{run}"), "structure_of": (system,), "values_of": (ev.structure_of(system), system),
    "still": ("{found}",), "sum_of": (1.0, ev.ramp(0.0, 1.0)),
    "tangent_forward_dynamics": (system, system.rest()), "tangent_inverse_dynamics": (system, system.rest()),
    "triangle": (1.0, 0.5, 1.0), "within": (1.0, 0.0), "workspace": (system, [tendon, "gravity"], [(0, 1), (0, 1)]),
}  # fmt: skip
# What has no arguments that could be mistaken, needs a whole file, or serves others: with the reason.
LEFT_OUT = {
    "Adaptive EquilibriumStudy GaussLegendre4 ImplicitMidpoint RungeKutta4 RungeKuttaMuntheKaas SemiImplicitEuler "
    "SimulationStudy Spectral": "no argument, or numbers only with defaults",
    "BadInput CannotWrite ElverWarning Interrupted NotConverged UnitWarning __version__ Model Structure Values":
        "not called by users",
    "RodProblem direct_equilibrium shooting_dynamics floating_inverse_dynamics Driven JointStop state_from":
        "cases of their own",
    "load_model read_urdf": "files, see test_first_minute",
    "draw_workspace view save_csv": "need a map, a server, a table",
}  # fmt: skip

WRONG = {
    "a rod": lambda m: arm,
    "a mechanism": lambda m: mechanism,
    "a list": lambda m: [5.0],
    "a number": lambda m: 5.0,
    "None": lambda m: None,
    "a text": lambda m: "arm",
    "a path": lambda m: Path("nowhere.nc"),
    "a dataset": lambda m: m["run"],
    "an equilibrium": lambda m: m["found"],
    "a class": lambda m: ev.Rod,
    "a system": lambda m: system,
    "an array": lambda m: np.zeros((3, 3)),
}
NESTED = re.compile(r"(Rod|System|Mechanism|Tendon|Material)\([a-z_]+=|<class |<xarray|array\(\[| object at 0x|\n")

# How a message names what was given.
NAMED = {"a rod": "rod", "a mechanism": "mechanism", "a class": "the class rod", "an equilibrium": "equilibrium"}
# What works takes its time: drawings of good things are looked at in test_one_verb.
DRAWN = ("animate", "report", "save", "save_plots", "show")
GOOD = ("a dataset", "an equilibrium", "a system", "a text", "a path")
OPTIONS = {"workspace": {"resolution": 2}, "animate": {"dpi": 40, "fps": 4.0}, "save_plots": {"format": "png"}}


def resolved(arguments, made, folder):
    """Arguments with the things that are made in their places."""
    places = {"{run}": made["run"], "{found}": made["found"], "{file}": made["file"]}
    return [
        folder / value.replace("{path}", "out") if isinstance(value, str) and "{path}" in value else
        places.get(value, value) if isinstance(value, str) else value
        for value in arguments
    ]  # fmt: skip


def test_every_public_name_is_tried():
    left_out = {name for names in LEFT_OUT for name in names.split()}
    assert set(ev.__all__) - set(CALLS) - left_out == set()


@pytest.mark.filterwarnings("ignore")  # of unusual but allowed values, which are not the subject here
@pytest.mark.parametrize("name", CALLS)
def test_wrong_kinds_are_told(name, made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function = partial(getattr(ev, name), **OPTIONS.get(name, {}))
    good = resolved(CALLS[name], made, tmp_path)
    function(*good)
    for k in range(min(2, len(good))):
        for kind, make in WRONG.items():
            if name in DRAWN and kind in GOOD:
                continue
            given = make(made)
            case = f"{name}, argument {k} is {kind}"
            try:
                function(*good[:k], given, *good[k + 1 :])
            except BadInput as error:
                message = str(error)
                assert len(message) < 600, f"{case}: {message}"
                assert not NESTED.search(message), f"{case}: {message}"
                if kind in NAMED:
                    assert NAMED[kind] in message.lower(), f"{case}: {message}"
            except ev.NotConverged:
                pass
            except Exception as error:
                pytest.fail(f"{case}: {type(error).__name__}: {error}")
    plt.close("all")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: ev.equilibrium(system, [5.0]), ["inputs is [5.0]", "inputs={'tendon': 5.0, 'gravity': 2.0}"]),
        (lambda m: ev.equilibrium(system, 5.0), ["inputs is 5.0", "{'tendon': 5.0"]),
        (lambda m: ev.simulate(system, inputs=np.zeros(2)), ["inputs is an array of shape (2,)", "{'tendon': 5.0"]),
        (lambda m: ev.equilibrium(arm), ["equilibrium: system is the Rod 'arm'", "System(Mechanism.clamped(rod))"]),
        (lambda m: ev.equilibrium(ev.System), ["the class System"]),
        (lambda m: ev.simulate(mechanism), ["simulate: system is a Mechanism", "System(mechanism"]),
        (lambda m: ev.simulate(m["found"]), ["simulate: system is an Equilibrium", "which is its .system"]),
        (lambda m: ev.show(arm), ["show is given the Rod 'arm'", "a run, an Equilibrium or a System"]),
        (lambda m: ev.animate(m["run"], 5), ["path is 5", "film.gif"]),
        (lambda m: ev.save(system, "arm.toml"), ["save_model"]),
        (lambda m: ev.direct_equilibrium(arm), ["the Rod 'arm'", "give a System"]),
        (lambda m: ev.shooting_dynamics(arm), ["the Rod 'arm'", "give a System"]),
        (lambda m: ev.state_from(arm, centre_line=np.zeros((3, 3))), ["the Rod 'arm'", "give a System"]),
        (lambda m: ev.view(arm, wait=False), ["the Rod 'arm'", "a run, an Equilibrium or a System"]),
    ],
)
def test_the_message_shows_the_way(call, words, made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput) as caught:
        call(made)
    for word in words:
        assert word in str(caught.value), caught.value
