"""The record of a run: from rows of accepted steps to a dataset with names and units, and into a file.

Rows come as the march made them; every one goes through the ledger, each k-th is kept. What is kept is observed
(poses, energies, momentum) when it is written.
"""

from __future__ import annotations

import time as clock
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import version
from typing import Any, TypeAlias

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from elver.bodies import RigidBody
from elver.dynamics.core import core
from elver.dynamics.quantities import observe_states
from elver.errors import CannotWrite, NotConverged, warn
from elver.integrators.adaptive import Adaptive
from elver.integrators.march import March
from elver.integrators.method import Method
from elver.io import RunFile, dumps
from elver.lie import so3
from elver.results.history import base_name, remember
from elver.results.ledger import RUNAWAY, Ledger
from elver.system import System

__all__ = ["Recorder"]

Array: TypeAlias = NDArray[Any]

_WRITE_SECONDS = 0.2  # at least, between two pieces of a file,
_WRITE_SHARE = 10.0  # and so many times what the last one took;
_WRITE_FIRST = 5.0  # so many times as long until the first, which costs more than a short run: that one is written once
_QUATERNION = {"units": "1", "long_name": "world from section, scalar first"}
_ROUNDING = 1e-8  # part of the energy in play below which its books are closed
_KEPT = ("time", "q", "base", "twist", "multipliers", "inputs", "iterations")


def _joined(records: list[tuple[Array, dict[str, Array]]]) -> tuple[Array, dict[str, Array]]:
    names = records[0][1]
    return np.concatenate([times for times, _ in records]), {
        name: np.concatenate([out[name] for _, out in records]) for name in names
    }


def _model(system: System, duration: float) -> dict[str, str]:
    """The model as text, or the reason why it cannot be stored: no run fails for that."""
    try:
        model = dumps(system, duration=duration)
    except Exception as error:  # of functions and classes of the user's, which may do anything
        why = f"simulate: the run is computed, but its model cannot be stored with it: {error}"
        warn(why)
        return {"model_not_stored": str(error)}
    remember(model, system)
    return {"model": model}


class Recorder:
    """Collects the records of a run, as dataset and, if asked for, into a file."""

    def __init__(
        self, system: System, march: March, method: Method, step: Any, duration: float, every: int, file: Any
    ) -> None:
        self.system, self.march, self.every = system, march, every
        self.seen = 0
        # times and records together, so that Ctrl-C cannot come between them
        self.records: list[tuple[Array, dict[str, Array]]] = []
        self.last: tuple[Array, dict[str, Array]] | None = None  # the last step, where ``every`` leaves it out
        self.ledger = Ledger(system, march.core, method.ledger_order)
        self.step, self.method = step, method
        self.file = None if file is None else RunFile(file)
        self.due = clock.perf_counter() + _WRITE_FIRST * _WRITE_SECONDS  # when the file gets its next piece
        self.trouble: CannotWrite | None = None
        self.attributes = {
            "title": system.title or f"elver simulation of {', '.join(part.name for part in system.mechanism.parts)}",
            "elver_version": version("elver"),
            "conventions": "SI units, radians; six-vectors angular first; world z up; quaternions scalar first",
            "method": repr(method),
            "newton": march.newton,
            "step": repr(step) if isinstance(step, Adaptive) else float(step),
            **_model(system, duration),
        }

    def add(self, out: dict[str, Array]) -> None:
        """Book these steps, and keep every k-th of them."""
        if not out["time"].size:
            return
        seen = observe_states(self.system, out["base"], out["twist"], out["q"], out["inputs"])
        ledger = self.ledger
        if "carried" in out:  # frames move a little beside what the coordinates' rates say
            seen.energy[:, 0] += out["carried"]
        booked = ledger.book(out, seen)
        whole = out["whole"]
        first = ledger.steps == 0 and not self.seen
        ledger.steps += int(whole.sum()) - int(first)
        for begin in self.march.divided[ledger.divided :]:
            ledger.divide(begin)
        numbers = self.seen + np.cumsum(whole) - 1
        self.seen += int(whole.sum())
        rows = {name: out[name] for name in _KEPT}
        rows |= {"ledger": booked, "position": seen.position, "rotation": seen.rotation}
        rows |= {"energy": seen.energy, "momentum": seen.momentum}
        keep = whole & (numbers % self.every == 0)
        last = {name: values[-1:] for name, values in rows.items()}
        self.last = None if keep[-1] else (last["time"], last)
        if keep.any():
            self.records.append((out["time"][keep], {name: values[keep] for name, values in rows.items()}))
            if clock.perf_counter() > self.due:
                self._write()
        if ledger.has_run_away:
            raise NotConverged(
                f"simulate: stopped at t = {out['time'][-1]:g} s, where the method has brought in more than "
                f"{RUNAWAY:g} times the energy in play ({ledger.in_play:.3g} J): {self.remedy}; .result holds the run "
                "so far"
            )

    def _write(self) -> None:
        """Bring the file up to date with the records; an append that Ctrl-C cut short is made up for.

        Where they do not find room together, as many as do.
        """
        if self.file is None:
            return
        began, is_new = clock.perf_counter(), not self.file.steps
        done = np.cumsum([times.size for times, _ in self.records])
        missing = [record for record, last in zip(self.records, done, strict=True) if last > self.file.steps]
        try:
            if missing:
                self.file.append(self._dataset(*_joined(missing)))
        except CannotWrite as error:
            self.trouble = error
            if len(missing) > 1:
                with suppress(CannotWrite):
                    for record in missing:
                        self.file.append(self._dataset(*record))
            raise
        now = clock.perf_counter()
        self.due = now + max(_WRITE_SECONDS, 0.0 if is_new else _WRITE_SHARE * (now - began))

    @property
    def remedy(self) -> str:
        """What helps against energy from nowhere."""
        if isinstance(self.step, Adaptive):
            smaller = f"take a smaller tolerance than {self.step.tolerance:g}"
        else:
            smaller = f"take a smaller step than {self.step:g} s"
        return f"{smaller}, or {self.method.remedy}"

    def finish(self, status: str) -> xr.Dataset:
        """The whole run with its last state; its status goes to the file, ``trouble`` says if that was not to be."""
        verdict = self.ledger.verdict()
        about = verdict.attributes
        if abs(verdict.error) > _ROUNDING:
            about["energy_error_cause"] = self.method.energy_cause
        if self.march.shortened:
            about["shortened_steps"] = self.march.shortened
        self.attributes |= about
        if self.last is not None:
            self.records.append(self.last)
            self.last = None
        run = xr.Dataset(attrs={**self.attributes, "status": status})
        if self.records:
            run = self._dataset(*_joined(self.records)).assign_attrs(status=status)
        if self.file is not None:
            try:
                try:
                    if self.trouble is None and self.records:
                        self._write_whole(run)
                except CannotWrite as error:  # the file has a part of the run, or nothing
                    run.attrs["status"] = status = f"stopped: {error}"
                    raise
                finally:
                    self.file.close(status, about)
            except CannotWrite as error:
                self.trouble = self.trouble or error
        return run

    def _write_whole(self, run: xr.Dataset) -> None:
        assert self.file is not None
        try:
            self.file.complete(run)
        except CannotWrite:  # then at least what finds room
            self._write()
            raise

    def _dataset(self, times: Array, out: dict[str, Array]) -> xr.Dataset:
        system = self.system
        energy = out["energy"]
        base = base_name(system)
        variables: dict[str, Any] = {
            "q": (("time", "coordinate"), out["q"][:, 0], {"units": "see coordinate_units"}),
            "q_dot": (("time", "coordinate"), out["q"][:, 1], {"units": "coordinate unit / s"}),
            "q_ddot": (("time", "coordinate"), out["q"][:, 2], {"units": "coordinate unit / s2"}),
            "coordinate_units": ("coordinate", list(system.coordinate_units)),
            f"{base}/position": (("time", "xyz"), out["base"][:, 3], {"units": "m"}),
            f"{base}/orientation": (("time", "quaternion"), so3.to_quaternion(out["base"][:, :3]), _QUATERNION),
            f"{base}/twist": (
                ("time", "six"),
                out["twist"][:, 0],
                {"units": "rad/s, m/s", "long_name": "body twist of the base, angular first"},
            ),
            f"{base}/twist_rate": (("time", "six"), out["twist"][:, 1], {"units": "rad/s2, m/s2"}),
            "energy/kinetic": ("time", energy[:, 0], {"units": "J"}),
            "energy/elastic": ("time", energy[:, 1], {"units": "J"}),
            "energy/gravity": ("time", energy[:, 2], {"units": "J"}),
            "energy/total": ("time", energy.sum(axis=1), {"units": "J"}),
            "momentum": (
                ("time", "six"),
                out["momentum"],
                {"units": "kg m2/s, kg m/s", "long_name": "angular about the world origin, linear; world axes"},
            ),
            "newton_iterations": ("time", out["iterations"], {"units": "1"}),
        }
        coordinates: dict[str, Any] = {
            "time": ("time", times, {"units": "s"}),
            "coordinate": list(system.coordinate_names),
            "xyz": ["x", "y", "z"],
        }
        self._add_parts(out, variables, coordinates)
        variables |= self.ledger.variables(out["ledger"])
        self._add_channels(out, variables, coordinates)
        return xr.Dataset(variables, coordinates, self.attributes)

    def _add_parts(self, out: dict[str, Array], variables: dict[str, Any], coordinates: dict[str, Any]) -> None:
        """Where rods and bodies are, and how thick."""
        assembly = self.march.core.assembly
        for rod, at in assembly.rods.items():
            name, node = rod.name, f"{rod.name}_node"
            half_widths = np.column_stack(rod.section.half_widths(at.s, rod.length))
            variables |= {
                f"{name}/position": (("time", node, "xyz"), out["position"][:, at.frames], {"units": "m"}),
                f"{name}/orientation": (
                    ("time", node, "quaternion"), so3.to_quaternion(out["rotation"][:, at.frames]), _QUATERNION
                ),
                f"{name}/half_width": ((node, "yz"), half_widths, {"units": "m"}),
                f"{name}/tip/position": (("time", "xyz"), out["position"][:, at.frames[-1]], {"units": "m"}),
            }  # fmt: skip
            coordinates[f"{name}/s"] = (node, at.s, {"units": "m", "long_name": "arc length of the rest shape"})
        for body, frame in assembly.bodies.items():
            variables |= {
                f"{body.name}/position": (("time", "xyz"), out["position"][:, frame], _appearance(body)),
                f"{body.name}/orientation": (
                    ("time", "quaternion"), so3.to_quaternion(out["rotation"][:, frame]), _QUATERNION
                ),
            }  # fmt: skip

    def _add_channels(self, out: dict[str, Array], variables: dict[str, Any], coordinates: dict[str, Any]) -> None:
        """Inputs, multipliers and the efforts of what is imposed."""
        system, u = self.system, out["inputs"]
        if system.channels:
            variables["inputs"] = (("time", "input"), u[:, : len(system.channels)], {"units": "see input_units"})
            variables["input_units"] = ("input", [part.unit for part in system.channels])
            coordinates["input"] = list(system.channel_names)
        if system.multipliers:
            variables["multipliers"] = (
                ("time", "multiplier"), out["multipliers"], {"units": "see multiplier_units"}
            )  # fmt: skip
            variables["multiplier_units"] = ("multiplier", [u for _, u in system.multipliers])
            coordinates["multiplier"] = [label for label, _ in system.multipliers]
        if system.imposed:
            efforts = core(system).efforts(out["base"], out["twist"], out["q"], out["multipliers"], u)
            variables["efforts"] = (("time", "imposed"), efforts, {"units": "see effort_units"})
            variables["effort_units"] = ("imposed", [part.effort_unit for part in system.imposed])
            coordinates["imposed"] = [system.label(part) for part in system.imposed]


def _appearance(body: RigidBody) -> dict[str, Any]:
    """Attributes of a body's position that say how to draw it; a frame without mass and shape is not drawn."""
    about: dict[str, Any] = {"units": "m", "long_name": "origin of the body frame"}
    if body.shape is not None:
        about |= {"shape": type(body.shape).__name__.lower(), **asdict(body.shape)}
    elif body.mass > 0.0:
        about |= {"shape": "point"}
    if "shape" in about:
        about["centre"] = body.centre
    return {name: np.array(value) if isinstance(value, tuple) else value for name, value in about.items()}
