"""Models as plain JSON values, so that a run can be reproduced from its file alone.

A model is a tree of frozen dataclasses (System, Mechanism, Rod, Tendon ...); :func:`encode` walks its fields:

    dataclass    {"type": "Rod", "length": 0.4, ...}; where it occurs again, {"ref": n} to its {"id": n}
    array        {"array": [[...], ...]}
    tuple, list  a JSON list, and a tuple again after decoding
    mapping      {"map": [[key, value], ...]}
    function     {"type": "Table", ...}: sampled, since code cannot be stored; the note in it says so

Functions of arc length are sampled on [0, length] of their rod, functions of time on [0, duration].
Infinite numbers and NaN are {"number": "inf"}, since JSON has none. All values are in SI units.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.util
import inspect
import json
import math
import pkgutil
import re
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from elver.actuation.paths import Route
from elver.actuation.tendon import Routed
from elver.errors import BadInput, ElverWarning
from elver.io.stand_ins import Code, Table
from elver.words import describe

__all__ = ["Encoder", "decode", "dumps", "encode", "loads", "model_classes"]

# Where the classes of a model are defined; each package is searched with its submodules.
MODEL_PACKAGES = (
    "elver.rods",
    "elver.bodies",
    "elver.shells",
    "elver.mechanism",
    "elver.actuation",
    "elver.environment",
    "elver.system",
    "elver.integrators",
)


# Whose functions are of the motion, not of s or t.
_WITH_CODE = ("Feedback", "JointFeedback", "Law", "ActiveStress", "FrameLoad")


def dumps(model: Any, *, duration: float | None = None) -> str:
    """A model as JSON text, see :func:`encode`."""
    return json.dumps(encode(model, duration=duration), ensure_ascii=False, allow_nan=False)


def loads(text: str, *, classes: Mapping[str, type] | None = None) -> Any:
    """The model in a JSON text, see :func:`decode`."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadInput(f"model: not valid JSON ({error}); expected the text written by io.dumps") from None
    return decode(data, classes=classes)


# ---------------------------------------------------------------------------- to JSON values


def encode(model: Any, *, duration: float | None = None, samples: int = 101) -> Any:
    """``model`` as nested dicts, lists, numbers and texts that JSON can hold.

    ``duration`` [s] is the time over which functions of time are sampled (1 s if not given), with ``samples``
    points; so are functions of arc length along their rod.
    """
    encoder = Encoder(duration=1.0 if duration is None else float(duration), samples=samples)
    encoder.count(model)
    return encoder.encode(model, path=type(model).__name__, owners=())


class Encoder:
    """One walk over a model: first to count shared parts, then to write them."""

    def __init__(self, *, duration: float, samples: int) -> None:
        self.duration = duration
        self.samples = samples
        self.seen: Counter[int] = Counter()
        self.ids: dict[int, int] = {}

    def count(self, value: Any) -> None:
        if _is_dataclass_value(value):
            self.seen[id(value)] += 1
            if self.seen[id(value)] == 1:
                for field in _stored_fields(value):
                    self.count(getattr(value, field.name))
        elif isinstance(value, Mapping):
            for key, item in value.items():
                self.count(key)
                self.count(item)
        elif isinstance(value, (tuple, list)):
            for item in value:
                self.count(item)

    def encode(self, value: Any, path: str, owners: tuple[Any, ...]) -> Any:
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, (np.bool_, np.integer)):
            return value.item()
        if isinstance(value, int):
            return value
        if isinstance(value, (float, np.floating)):
            return _number(float(value))
        if isinstance(value, np.ndarray):
            return self._array(value, path)
        if _is_dataclass_value(value):
            return self._dataclass(value, path, owners)
        if isinstance(value, Mapping):
            pairs = [
                [self.encode(k, f"{path} key", owners), self.encode(v, f"{path}[{k!r}]", owners)]
                for k, v in value.items()
            ]
            return {"map": pairs}
        if isinstance(value, (tuple, list)):
            return [self.encode(v, f"{path}[{i}]", owners) for i, v in enumerate(value)]
        if callable(value):
            return self._function(value, path, owners)
        raise BadInput(
            f"{path} = {describe(value)} cannot be written to a file: a model is made of dataclasses, numbers, "
            "texts, arrays, sequences, mappings and functions"
        )

    def _array(self, value: np.ndarray, path: str) -> dict[str, Any]:
        if value.dtype.kind not in "biuf":
            raise BadInput(f"{path}: an array of {value.dtype} cannot be written to a file; use numbers")
        flat = [_number(v) if isinstance(v, float) else v for v in value.ravel().tolist()]
        data: dict[str, Any] = {"array": _nest(flat, value.shape)}
        if value.dtype != np.float64:
            data["dtype"] = value.dtype.name
        if value.size == 0:
            data["shape"] = list(value.shape)
        return data

    def _dataclass(self, value: Any, path: str, owners: tuple[Any, ...]) -> dict[str, Any]:
        if id(value) in self.ids:
            return {"ref": self.ids[id(value)]}
        data: dict[str, Any] = {"type": type(value).__name__}
        if self.seen[id(value)] > 1:
            data["id"] = self.ids[id(value)] = len(self.ids)
        for field in _stored_fields(value):
            item = getattr(value, field.name)
            data[field.name] = self.encode(item, f"{path}.{field.name}", (*owners, value))
        return data

    def _function(self, function: Callable[..., Any], path: str, owners: tuple[Any, ...]) -> Any:
        name = getattr(function, "__qualname__", type(function).__name__)
        if owners and type(owners[-1]).__name__ in _WITH_CODE:
            return self._dataclass(Code(name), path, owners)
        owner = owners[-1] if owners else None
        if isinstance(owner, Routed):
            return self._path(owner, name, path, owners)
        variable, ends, unit = self._domain(function, owners)
        end = ends[-1]
        # a function may jump at the breaks of its rod: there it is sampled from both sides
        x = np.concatenate([np.linspace(a, b, self.samples) for a, b in pairwise(ends)])
        breaks = np.array(ends[1:-1])
        inside = x.copy()
        inside[np.isin(x, breaks) & (np.diff(x, append=np.inf) == 0.0)] -= 1e-12 * end
        inside[np.isin(x, breaks) & (np.diff(x, prepend=-np.inf) == 0.0)] += 1e-12 * end
        try:
            values = _route(owner, path, inside, end) if isinstance(owner, Route) else _sample(function, inside)
        except Exception as error:
            raise BadInput(
                f"{path}: the function could not be sampled on [0, {end:g}] {unit} ({error}); it must take "
                f"one array {variable} of shape (n,), or one number, and return numbers"
            ) from error
        note = f"samples of the Python function {name} on [0, {end:g}] {unit}; the code itself is not stored"
        table = Table(x, values, variable, note)
        return self._dataclass(table, path, owners)

    def _path(self, cable: Routed, name: str, path: str, owners: tuple[Any, ...]) -> Any:
        """A path (s, length) -> (D, D′) of the user's, as routes through samples: one, or one for each rod."""
        which = re.search(r"\[(\d+)\]$", path)
        rods = cable.rods if which is None else cable.rods[int(which[1]) :][:1]
        routes = []
        for rod in rods:
            start, end = cable.stretch(rod)
            x = np.linspace(start, end, self.samples)
            D, D_prime, _ = cable.geometry(x, rod)
            where = f"[{start:g}, {end:g}] m of {rod.name}"
            note = f"samples of the Python function {name} on {where}; the code itself is not stored"
            route = Route(Table(x, D[:, 1:], "s", note), Table(x, D_prime[:, 1:], "s", note))
            routes.append(self._dataclass(route, path, owners))
        return routes[0] if len(routes) == 1 else routes

    def _domain(self, function: Callable[..., Any], owners: tuple[Any, ...]) -> tuple[str, tuple[float, ...], str]:
        """Variable, ends of the intervals where it is smooth, and its unit: arc length, unless it is one of time."""
        try:
            first = next(iter(inspect.signature(function).parameters), "")
        except (TypeError, ValueError):
            first = ""
        in_mechanism = bool(owners) and type(owners[-1]).__module__.startswith("elver.mechanism")
        if first not in ("t", "time") and not in_mechanism:
            for owner in reversed(owners):
                rods = getattr(owner, "rods", None) or (owner,)
                length = getattr(rods[0], "length", None) or getattr(getattr(owner, "rod", None), "length", None)
                if isinstance(length, (int, float)):
                    rod = rods[0] if hasattr(rods[0], "piece_ends") else getattr(owner, "rod", None)
                    return "s", getattr(rod, "piece_ends", (0.0, float(length))), "m"
        return "t", (0.0, self.duration), "s"


def _route(route: Route, path: str, s: np.ndarray, length: float) -> np.ndarray:
    """(D_y, D_z) of a route at ``s``, or their derivatives; the user's functions may return pairs of arrays."""
    D, D_prime = route(s, length)
    return (D_prime if path.endswith(".derivative") else D)[:, 1:]


def _is_dataclass_value(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _stored_fields(value: Any) -> list[dataclasses.Field[Any]]:
    return [field for field in dataclasses.fields(value) if field.init]


def _number(value: float) -> Any:
    return value if math.isfinite(value) else {"number": repr(value)}


def _nest(flat: list[Any], shape: tuple[int, ...]) -> Any:
    if not shape:
        return flat[0]
    if 0 in shape:
        return []
    size = len(flat) // shape[0]
    return [_nest(flat[i * size : (i + 1) * size], shape[1:]) for i in range(shape[0])]


def _sample(function: Callable[..., Any], x: np.ndarray) -> np.ndarray:
    """Values (len(x), ...) of a function that is vectorised, or else takes one number."""
    try:
        values = np.asarray(function(x), dtype=float)
        if values.shape[:1] == x.shape:
            return values
    except Exception:  # not vectorised: any error of a user's function means one number at a time
        values = np.empty(0)
    return np.array([np.asarray(function(float(v)), dtype=float) for v in x])


# -------------------------------------------------------------------------- from JSON values


def decode(data: Any, *, classes: Mapping[str, type] | None = None) -> Any:
    """The model that :func:`encode` wrote; shared parts are shared again.

    ``classes`` maps type names to your own dataclasses (loads, sections) that are not part of elver.
    """
    known = {**model_classes(), **(classes or {})}
    shared: dict[int, Any] = {}

    def build(item: Any) -> Any:
        if isinstance(item, list):
            return tuple(build(v) for v in item)
        if not isinstance(item, dict):
            return item
        if "number" in item:
            return float(item["number"])
        if "array" in item:
            return _array_from(item)
        if "map" in item:
            return {build(key): build(value) for key, value in item["map"]}
        if "ref" in item:
            if item["ref"] not in shared:
                raise BadInput(f"model: reference {item['ref']!r} to a part that is not in the file")
            return shared[item["ref"]]
        name = item.get("type")
        if name not in known:
            raise BadInput(
                f"model: unknown type {name!r}; if it is your own class, pass classes={{{name!r}: ...}}, "
                "else the file was written by another version of elver"
            )
        fields = {key: build(value) for key, value in item.items() if key not in ("type", "id")}
        try:
            value = known[name](**fields)
        except TypeError as error:
            raise BadInput(f"model: {name} does not accept what the file holds ({error})") from None
        if "id" in item:
            shared[item["id"]] = value
        return value

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ElverWarning)  # heard once, when the model was made
        return build(data)


def _array_from(item: dict[str, Any]) -> np.ndarray:
    def finite(value: Any) -> Any:
        if isinstance(value, list):
            return [finite(v) for v in value]
        return float(value["number"]) if isinstance(value, dict) else value

    array = np.array(finite(item["array"]), dtype=item.get("dtype", "float64"))
    return array.reshape(item["shape"]) if "shape" in item else array


@functools.cache
def model_classes(packages: tuple[str, ...] = MODEL_PACKAGES) -> dict[str, type]:
    """Every dataclass of the packages that models are made of, by its name."""
    classes: dict[str, type] = {"Table": Table, "Code": Code}
    for package in packages:
        if importlib.util.find_spec(package) is None:
            continue
        module = importlib.import_module(package)
        modules = [module]
        for info in pkgutil.walk_packages(getattr(module, "__path__", []), prefix=f"{package}."):
            modules.append(importlib.import_module(info.name))
        for module in modules:
            for name, value in vars(module).items():
                if not (isinstance(value, type) and dataclasses.is_dataclass(value)):
                    continue
                if value.__module__ != module.__name__:
                    continue
                if name in classes:
                    both = f"{classes[name].__module__} and {value.__module__}"
                    raise BadInput(f"{both} both define {name}: a file could not tell them apart")
                classes[name] = value
    return classes
