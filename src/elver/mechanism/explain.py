"""What a mechanism is made of, as text: its tree, its cuts and their rows, and the numbers of its coordinates."""

from __future__ import annotations

from collections.abc import Sequence

from elver.mechanism.base import Base, Clamped, Free
from elver.mechanism.frame import Place
from elver.mechanism.hold import Hold
from elver.mechanism.joints import Joint
from elver.mechanism.tree import Branch, Owner, Tree
from elver.rods import Rod

__all__ = ["explain"]


def explain(tree: Tree, base: Base, holds: Sequence[Hold] = ()) -> str:
    """Several lines of text; ``q[0:3]`` says which coordinates belong to a joint or rod."""
    lines = [_parts(tree), f"base {_base(base)}", "", *_columns(_tree_rows(tree))]
    closures = _closure_rows(tree, holds)
    if closures:
        lines += ["", "closures", *_columns(closures, indent="   ")]
    return "\n".join([*lines, "", _freedom(tree, holds)])


def _parts(tree: Tree) -> str:
    rods = sum(isinstance(part, Rod) for part in tree.parts)
    counts = ((rods, "rod"), (len(tree.parts) - rods, "body"), (len(tree.branches) + len(tree.cuts), "joint"))
    text = ", ".join(_plural(count, word) for count, word in counts if count)
    return text + (f" ({len(tree.cuts)} cut)" if tree.cuts else "")


def _base(base: Base) -> str:
    if not isinstance(base, Clamped | Free):
        return "driven by a given motion"
    place = ", ".join(f"{x:.4g}" for x in base.g[:3, 3])
    return f"clamped at ({place}) m" if isinstance(base, Clamped) else f"free, starts at ({place}) m"


def _tree_rows(tree: Tree) -> list[tuple[str, ...]]:
    """The tree drawn with lines, with the coordinates of each joint and rod."""
    where = {owner: own for owner, own in tree.coordinates if owner.n}
    leaving: dict[Place, list[Branch]] = {}
    for branch in tree.branches:
        leaving.setdefault(branch.parent.part, []).append(branch)
    rows: list[tuple[str, ...]] = []

    def show(text: str, owner: Owner | Place) -> None:
        if isinstance(owner, Joint | Rod) and owner in where:
            rows.append((text, f"q[{where[owner].start}:{where[owner].stop}]", _short(owner.coordinate_names)))
        else:
            rows.append((text,))

    # A stack, not recursion: chains may be long.
    roots: list[Place] = [tree.root.part] + (["world"] if tree.floating and "world" in leaving else [])
    for root in roots:
        show("world" if root == "world" else f"{tree.root.label} (floats)", root)
        waiting = [(branch, "") for branch in reversed(leaving.get(root, []))]
        while waiting:
            branch, indent = waiting.pop()
            last = branch is leaving[branch.parent.part][-1]
            at = f" at {branch.parent.label.rpartition(' at ')[2]}" if isinstance(branch.parent.part, Rod) else ""
            show(f"{indent}{'└─' if last else '├─'} {_joint(branch.joint)}{at}", branch.joint)
            indent += "   " if last else "│  "
            show(f"{indent}{branch.child.label}", branch.child.part)
            waiting += [(onward, indent) for onward in reversed(leaving.get(branch.child.part, []))]
    return rows


def _closure_rows(tree: Tree, holds: Sequence[Hold]) -> list[tuple[str, ...]]:
    closures = [(_joint(joint), f"{joint.a.label} to {joint.b.label}", joint.row_names) for joint in tree.cuts]
    for hold in holds:
        moments = tuple(f"moment_{'xyz'[axis]}" for axis in hold.rotation_axes)
        forces = tuple(f"force_{'xyz'[axis]}" for axis in hold.position_axes)
        closures.append((hold.label, "in the world", moments + forces))
    rows: list[tuple[str, ...]] = []
    first = 0
    for label, where, names in closures:
        rows.append((label, where, f"rows {first}:{first + len(names)}", ", ".join(names)))
        first += len(names)
    return rows


def _freedom(tree: Tree, holds: Sequence[Hold]) -> str:
    rows = tree.rows + sum(hold.rows for hold in holds)
    least = max(tree.n + 6 * tree.floating - rows, 0)
    base = " + 6 of the base" if tree.floating else ""
    return f"{_plural(tree.n, 'coordinate')}{base} - {_plural(rows, 'row')}: at least {least} degrees of freedom"


def _joint(joint: Joint) -> str:
    kind = "" if str(joint.name).startswith(joint.kind) else f" ({joint.kind})"
    if joint.n in (0, 6) or joint.kind == "spherical":
        return f"{joint.name}{kind}"
    axis = joint.axis if isinstance(joint.axis, str) else f"({', '.join(f'{x:.3g}' for x in joint.axis)})"
    return f"{joint.name}{kind}, axis {axis}"


def _short(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 6 else f"{names[0]}, {names[1]}, … {names[-1]}"


def _plural(count: int, word: str) -> str:
    if count != 1:
        word = "bodies" if word == "body" else f"{word}s"
    return f"{count} {word}"


def _columns(rows: Sequence[tuple[str, ...]], indent: str = "") -> list[str]:
    """Lines with every column as wide as its longest entry."""
    widths = [max(len(row[k]) for row in rows if len(row) > k) for k in range(max(map(len, rows)))]
    return [indent + "   ".join(f"{text:<{width}}" for text, width in zip(row, widths)).rstrip() for row in rows]
