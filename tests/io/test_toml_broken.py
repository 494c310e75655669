"""Broken model files: each answers soon, with the file, the key or line, the value and a remedy; exit code 2."""

import copy
import os
import time
import tomllib

import pytest
from typer.testing import CliRunner

from elver.cli import app
from elver.errors import BadInput
from elver.io.toml_model import load_model
from elver.io.toml_text import value_text

GOOD = """
[materials.silicone]
young = "1 MPa"
poisson = 0.45
density = 1070.0

[rods.arm]
length = "0.4 m"
section = { type = "Circle", radius = "8 mm" }
material = "silicone"
basis = { type = "Legendre", bending = 4, torsion = 2 }

[bodies.hand]
mass = "20 g"
inertia = [1e-5, 1e-5, 1e-5]

[joints.foot]
type = "Fixed"
a = "world"
b = ["arm", "base"]

[joints.wrist]
type = "Revolute"
a = ["arm", "tip"]
b = "hand"

[actuators.tendon]
type = "Tendon"
rod = "arm"
path = { type = "Parallel", y = 0.0, z = "6 mm" }

[actuators.motor]
type = "Motor"
joint = "wrist"

[loads.gravity]
type = "Gravity"

[signals.pull]
type = "Ramp"
t0 = 0.0
t1 = 1.0
after = "2 N"

[inputs]
tendon = "pull"
motor = 0.0

[study]
kind = "simulation"
duration = "1 s"
step = "10 ms"
"""

# name: (text to replace, its replacement, what the message must hold)
CHANGED = {
    "missing key": ("young = \"1 MPa\"\n", "", ["materials.silicone", "line 2", "'young'", "add young"]),
    "missing length": ("length = \"0.4 m\"\n", "", ["rods.arm", "'length'", "12 mm"]),
    "missing type": ('type = "Gravity"', "", ["loads.gravity", "'type'", '"Gravity"']),
    "misspelt key": ("poisson =", "poison =", ["materials.silicone.poison", "did you mean 'poisson'"]),
    "misspelt section": ("[bodies.hand]", "[body.hand]", ["body", "bodies"]),
    "misspelt type": ('"Circle"', '"Circel"', ["rods.arm.section.type", "'Circel'", "'Circle'"]),
    "unknown type": ('type = "Gravity"', 'type = "Magnet"', ["loads.gravity.type", "'Magnet'", "Gravity"]),
    "wrong unit": ('radius = "8 mm"', 'radius = "8 kg"', ["rods.arm.section.radius", "'8 kg'", "12 mm"]),
    "unknown unit": ('length = "0.4 m"', 'length = "2 cubits"', ["rods.arm.length", "line 8", "cubits"]),
    "angle for length": ('length = "0.4 m"', 'length = "30 deg"', ["rods.arm.length", "30 deg"]),
    "length for pressure": ('young = "1 MPa"', 'young = "1 mm"', ["materials.silicone.young", "Pa"]),
    "unit of an input": ('after = "2 N"', 'after = "2 mm"', ["signals.pull.after", "2 mm", "N"]),
    "wrong type: text": ("poisson = 0.45", 'poisson = "soft"', ["materials.silicone.poisson", "'soft'", "0.5"]),
    "wrong type: bool": ("density = 1070.0", "density = true", ["materials.silicone.density", "True", "1000.0"]),
    "wrong type: table": ("density = 1070.0", "density = { x = 1 }", ["materials.silicone.density", "number"]),
    "wrong type: date": ("density = 1070.0", "density = 1979-05-27", ["materials.silicone.density", "number"]),
    "wrong type: count": ("bending = 4", "bending = 4.5", ["rods.arm.basis.bending", "4.5", "whole"]),
    "wrong type: list": ('length = "0.4 m"', "length = [1, 2]", ["rods.arm", "length"]),
    "wrong type: name": ('material = "silicone"', "material = 5", ["rods.arm.material", "5", "name in quotes"]),
    "wrong type: section": ("[rods.arm]", "[rods]\narm = 3\n[rods.other]", ["rods.arm", "3", "[rods.arm]"]),
    "unknown material": ('material = "silicone"', 'material = "silicon"', ["rods.arm.material", "'silicone'"]),
    "unknown rod": ('rod = "arm"', 'rod = "leg"', ["actuators.tendon.rod", "'leg'", "arm"]),
    "unknown joint": ('joint = "wrist"', 'joint = "elbow"', ["actuators.motor.joint", "'elbow'", "wrist"]),
    "reference of another kind": ('joint = "wrist"', 'joint = "arm"', ["actuators.motor.joint", "'arm'", "Rod"]),
    "unknown input": ("motor = 0.0", "moter = 0.0", ["inputs.moter", "did you mean 'motor'"]),
    "unknown signal": ('tendon = "pull"', 'tendon = "pul"', ["inputs.tendon", "'pul'"]),
    "nan": ("density = 1070.0", "density = nan", ["materials.silicone.density", "nan", "1000.0"]),
    "infinite": ("density = 1070.0", "density = inf", ["materials.silicone", "density", "inf"]),
    "negative length": ('length = "0.4 m"', 'length = "-0.4 m"', ["rods.arm", "length", "-0.4"]),
    "zero radius": ('radius = "8 mm"', "radius = 0", ["rods.arm.section", "radius", "0"]),
    "negative mass": ('mass = "20 g"', 'mass = "-20 g"', ["bodies.hand", "mass", "-0.02"]),
    "impossible poisson": ("poisson = 0.45", "poisson = 0.7", ["materials.silicone", "0.7"]),
    "like itself": ("[rods.arm]", '[rods.arm]\nlike = "arm"', ["rods.arm.like", "circle"]),
    "cyclic like": (
        "[bodies.hand]\nmass = \"20 g\"", '[bodies.hand]\nlike = "foot-2"\n[bodies.foot-2]\nlike = "hand"\nmass = 1',
        ["like", "circle", "hand"],
    ),
    "like nothing": ("[rods.arm]", '[rods.arm]\nlike = "limb"', ["rods.arm.like", "'limb'"]),
    "unsorted table": (
        'tendon = "pull"', 'tendon = { type = "SampledSignal", times = [0, 2, 1], values = [0, 1, 2] }',
        ["inputs.tendon", "times[2] = 1 s", "sort"],
    ),
    "uneven table": (
        'tendon = "pull"', 'tendon = { type = "SampledSignal", times = [0, 1], values = [0] }',
        ["inputs.tendon", "as many values as times"],
    ),
    "table that is not there": (
        'tendon = "pull"', 'tendon = { type = "SampledSignal", file = "no.csv" }', ["no.csv", "no such file"],
    ),
    "table outside": (
        'tendon = "pull"', 'tendon = { type = "SampledSignal", file = "/etc/passwd" }',
        ["inputs.tendon.file", "/etc/passwd", "beside the model"],
    ),
    "pushing tendon": ('tendon = "pull"', 'tendon = "-2 N"', ["inputs.tendon", "-2"]),
    "ramp that goes back": ("t1 = 1.0", "t1 = -1.0", ["signals.pull", "t1 = -1", "choose t1 > t0"]),
    "same name twice": ("[bodies.hand]", "[bodies.arm]", ["bodies.arm", "also in rods"]),
    "same key twice": ("poisson = 0.45", "poisson = 0.45\npoisson = 0.4", ["line 5", "poisson"]),
    "same table twice": ("[study]", "[inputs]\n[study]", ["line", "inputs"]),
    "not TOML": ("[study]", "[study\n", ["line", "[study"]),
    "unquoted text": ('material = "silicone"', "material = silicone", ["line 10", "quotes"]),
    "a python call": ("density = 1070.0", "density = exec('x')", ["line 5", "exec"]),
    "unknown study": ('kind = "simulation"', 'kind = "dance"', ["study.kind", "'dance'", '"equilibrium"']),
    "negative duration": ('duration = "1 s"', "duration = -1", ["study.duration", "-1", "greater than zero"]),
    "step longer than the run": ('step = "10 ms"', 'step = "2 s"', ["study.step", "2 s", "1 s"]),
    "unknown scheme": (
        'step = "10 ms"', 'step = "10 ms"\nmethod = { type = "Euler" }', ["study.method.type", "'Euler'", "Newmark"],
    ),
    "unknown key of a scheme": (
        'step = "10 ms"', 'method = { type = "HHT", rho = 1 }', ["study.method.rho", "did you mean 'rho_inf'"],
    ),
    "range of a scheme": (
        'step = "10 ms"', 'method = { type = "GeneralizedAlpha", rho_inf = 2 }', ["study.method", "rho_inf = 2"],
    ),
    "adaptive step of zero": (
        'step = "10 ms"', 'step = { type = "Adaptive", first = 0 }', ["study.step", "first step = 0 s", "greater"],
    ),
    "place on no rod": ('b = ["arm", "base"]', 'b = ["arm", "middle"]', ["joints.foot", "middle"]),
    "place beyond the rod": ('b = ["arm", "base"]', 'b = ["arm", "2 m"]', ["joints.foot", "2", "0.4"]),
    "no frame": ('b = ["arm", "base"]', "b = 7", ["joints.foot.b", "7", '["arm", "tip"]']),
    "joined to itself": ('a = ["arm", "tip"]', 'a = "hand"', ["joints.wrist", "itself"]),
    "gravity twice": ("[signals.pull]", '[loads.more]\ntype = "Gravity"\n[signals.pull]', ["Gravity twice"]),
    "part without joint": (
        "[signals.pull]", '[rods.lost]\nlike = "arm"\n[loads.p]\ntype = "PointWrench"\npart = "lost"\n[signals.pull]',
        ["'lost'", "mechanism"],
    ),
    "new format": ("\n[materials", "elver = 99\n[materials", ["elver = 99", "format 1"]),
}  # fmt: skip


def broken(tmp_path, change):
    old, new, _ = CHANGED[change]
    assert GOOD.count(old) >= 1
    path = tmp_path / "broken.toml"
    path.write_text(GOOD.replace(old, new, 1), encoding="utf-8")
    return path


def complaint(path):
    """What ``elver check`` says; it must end with code 2, soon, and without a traceback."""
    start = time.process_time()
    result = CliRunner().invoke(app, ["check", str(path)])
    assert time.process_time() - start < 10.0  # milliseconds; but what grows with a file is found
    assert result.exit_code == 2, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    return result.output


@pytest.fixture(scope="module", autouse=True)
def _imported():
    """The time of imports is that of the program, not of the file."""
    from elver.io.toml_values import file_types

    file_types()


def test_the_file_is_good_before_it_is_broken(tmp_path):
    path = tmp_path / "good.toml"
    path.write_text(GOOD, encoding="utf-8")
    assert load_model(path).study.duration == 1.0
    assert CliRunner().invoke(app, ["check", str(path)]).exit_code == 0


@pytest.mark.parametrize("change", CHANGED)
def test_a_broken_file_is_told_where_and_how(change, tmp_path):
    path = broken(tmp_path, change)
    text = complaint(path)
    assert "bad input" in text
    if change != "table that is not there":
        assert "broken.toml" in text
    for piece in CHANGED[change][2]:
        assert piece in text, text


def test_there_are_at_least_forty():
    assert len(CHANGED) >= 40


BYTES = {
    "not UTF-8": (b'title = "caf\xe9"\n', ["line 1", "UTF-8"]),
    "binary": (bytes(range(256)) * 40, ["binary file, not a model file"]),
    "zeros": (b"\0" * 1000, ["binary file, not a model file"]),
    "empty": (b"", ["empty file", "elver new"]),
    "deeply nested": (b"x = " + b"[" * 100_000, ["not valid TOML"]),
    "many dots": (b"a." * 60_000 + b"b = 1\n", ["TOML"]),
    "many dotted tables": (b"[" + b"a." * 60_000 + b"b]\n", ["TOML"]),
    "one long line": (b"a" * 1_000_000, ["not valid TOML"]),
    "huge number": (b"[materials.m]\nyoung = 1" + b"0" * 400 + b"\ndensity = 1\n", ["materials.m.young"]),
    "a run instead": (b"\x89HDF\r\n\x1a\n" + b"\0" * 100, ["netCDF file", "elver report"]),
}


@pytest.mark.parametrize("name", BYTES)
def test_junk_is_told(name, tmp_path):
    path = tmp_path / "junk.toml"
    path.write_bytes(BYTES[name][0])
    text = complaint(path)
    assert "junk.toml" in text
    for piece in BYTES[name][1]:
        assert piece in text, text


def test_a_hundred_megabytes_of_junk_are_not_read(tmp_path):
    path = tmp_path / "junk.toml"
    with path.open("wb") as file:
        for _ in range(100):
            file.write(os.urandom(1_000_000))
    assert "100 MB is too large" in complaint(path)


def test_a_folder_and_a_missing_file_are_told(tmp_path):
    assert "is a folder" in complaint(tmp_path)
    assert "no such file" in complaint(tmp_path / "none.toml")


def test_a_broken_table_is_told_with_its_row(tmp_path):
    (tmp_path / "pull.csv").write_text("time,pull\n0,1\n1,much\n", encoding="utf-8")
    path = tmp_path / "model.toml"
    path.write_text(GOOD.replace('"pull"', '{ type = "SampledSignal", file = "pull.csv" }', 1), encoding="utf-8")
    with pytest.raises(BadInput, match=r"inputs\.tendon\.file: pull\.csv, row 3: '1,much'"):
        load_model(path)


WRONG = ["x", "", "1 N", "arm", "none", 0, -1, float("inf"), True, [], [[]], ["a"], {}, {"like": "arm"}, {"type": [1]}]


def every_path(value, path=()):
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*path, key)
        if isinstance(item, (dict, list)):
            yield from every_path(item, (*path, key))


@pytest.mark.filterwarnings("ignore::elver.errors.ElverWarning")
@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_whatever_stands_for_a_value_is_read_or_told(wrong, tmp_path):
    good = tomllib.loads(GOOD)
    good["mechanism"] = {"base": {"type": "Clamped", "pose": {"position": [0, 0, 1], "axis": "y", "angle": "1 deg"}}}
    path = tmp_path / "model.toml"
    told = []
    for place in every_path(good):
        document = copy.deepcopy(good)
        table = document
        for key in place[:-1]:
            table = table[key]
        table[place[-1]] = wrong
        path.write_text("\n".join(f"{key} = {value_text(v)}" for key, v in document.items()), encoding="utf-8")
        try:
            load_model(path)
        except BadInput as error:
            told.append(str(error))
    assert len(told) > 25
    assert all("model.toml" in text for text in told)
