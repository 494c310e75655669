"""Looking at model files: what they describe, in words, and the schema of their keys. Loads no compiled code."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from elver.cli.notes import warnings_as_notes
from elver.errors import BadInput

__all__ = ["changes_of", "check_file", "print_schema", "words_of_study", "words_of_system"]


def check_file(file: Path, settings: Sequence[str], *, as_json: bool = False, outside: bool = False) -> None:
    """Print what a model file describes."""
    from elver.io.toml_model import load_model

    with warnings_as_notes() as heard:
        model = load_model(file, changes=changes_of(settings), outside=outside)
    lines = [*words_of_system(model.system), *words_of_study(model.study)]
    if as_json:
        data = {"file": str(file), "ok": True, "title": model.title, "model": lines, "warnings": heard}
        print(json.dumps(data, ensure_ascii=False))
        return
    console = Console(highlight=False)
    console.print(f"[green]ok[/green]  {file}" + (f": {model.title}" if model.title else ""), soft_wrap=True)
    for line in lines:
        console.print(f"    {line}", soft_wrap=True, markup=False)


def print_schema() -> None:
    """Print the JSON schema of model files."""
    from elver.io.toml_schema import model_schema

    print(json.dumps(model_schema(), indent=2, ensure_ascii=False))


def changes_of(settings: Sequence[str]) -> dict[str, Any]:
    """``["arm.length=0.5 m", "tendon=5"]`` as a mapping; a value that is not TOML is a text."""
    changes: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key.strip() or not text.strip():
            raise BadInput(f"--set {setting!r}: write --set KEY=VALUE, such as --set rods.arm.length='0.5 m'")
        try:
            value = tomllib.loads(f"value = {text}")
            changes[key.strip()] = value["value"] if set(value) == {"value"} else text.strip()
        except (tomllib.TOMLDecodeError, RecursionError):
            changes[key.strip()] = text.strip()
    return changes


def words_of_system(system: Any) -> list[str]:
    """A system in a few lines of plain words."""
    mechanism = system.mechanism
    lines = []
    for rod in mechanism.rods:
        section, basis = type(rod.section).__name__.lower(), type(rod.basis).__name__
        lines.append(
            f"rod {rod.name!r}: {rod.length:g} m long, section {section}, {rod.material.young:g} Pa, "
            f"{rod.material.density:g} kg/m3, {rod.n} {basis} coordinates"
        )
    if len(mechanism.bodies) > 6:
        mass = sum(body.mass for body in mechanism.bodies)
        lines.append(f"{len(mechanism.bodies)} bodies, {mass:g} kg together")
    else:
        lines += [f"body {body.name!r}: {body.mass:g} kg" for body in mechanism.bodies]
    joints = Counter(type(joint).__name__ for joint in mechanism.joints)
    lines.append("joints: " + ", ".join(f"{count} {kind}" for kind, count in joints.items()))
    if cuts := len(mechanism.tree.cuts):
        lines.append(f"loops closed: {cuts}")
    if mechanism.holds:
        lines.append(f"holds: {len(mechanism.holds)}")
    for title, parts in (("actuators", system.actuators), ("loads", system.loads)):
        if parts:
            kinds = Counter(type(part).__name__ for part in parts)
            few = [f"{part.name} ({type(part).__name__})" for part in parts]
            many = [f"{count} {kind}" for kind, count in kinds.items()]
            lines.append(f"{title}: " + ", ".join(few if len(parts) <= 6 else many))
    base = "a free base" if system.free else "no free base"
    lines.append(f"{system.n} coordinates, {base}, {len(system.multipliers)} multipliers")
    return lines


def words_of_study(study: Any) -> list[str]:
    """A study in one line."""
    if study is None:
        return ["no study"]
    if study.kind == "simulation":
        step = f"steps of {study.step:g} s" if isinstance(study.step, float) else "adaptive steps"
        return [f"study: simulation over {study.duration:g} s, {step}"]
    if study.kind == "continuation":
        return [f"study: continuation over {', '.join(study.moved)} from {study.start:g} to {study.stop:g}"]
    return ["study: equilibrium"]
