"""What a file is, from its first bytes: for a good answer to the wrong file."""

from __future__ import annotations

import difflib
import shlex
from pathlib import Path

__all__ = ["instead_of_model", "instead_of_run", "kind_of_file", "like_named"]

_SIGNATURES = (
    (0, b"\x89HDF\r\n\x1a\n", "netCDF file"),
    (0, b"CDF\x01", "netCDF file of the old format"),
    (0, b"CDF\x02", "netCDF file of the old format"),
    (0, b"\x89PNG", "PNG picture"),
    (0, b"\xff\xd8\xff", "JPEG picture"),
    (0, b"GIF8", "GIF picture"),
    (4, b"ftyp", "film (MP4)"),
    (0, b"%PDF", "PDF document"),
    (0, b"PK\x03\x04", "ZIP archive"),
    (0, b"\x1f\x8b", "compressed file (gzip)"),
)


def kind_of_file(path: Path) -> str:
    """What ``path`` is, in a word or two: "folder", "empty file", "PNG picture", "XML file", "text", "binary file"."""
    if path.is_dir():
        return "folder"
    with path.open("rb") as file:
        head = file.read(512)
    if not head.strip():
        return "empty file"
    for offset, signature, kind in _SIGNATURES:
        if head[offset:].startswith(signature):
            return kind
    begin = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if begin.startswith((b"<!doctype html", b"<html")):
        return "web page (HTML)"
    if begin.startswith((b"<?xml", b"<robot")):
        return "XML file"
    return "binary file" if b"\x00" in head else "text"


def like_named(path: Path, ending: str) -> str:
    """A hint at a file of nearly that name beside it, as in "; is it arm.toml?", else nothing."""
    try:
        names = [other.name for other in path.absolute().parent.iterdir() if not other.name.startswith(".")][:2000]
    except OSError:
        return ""
    same_stem = [name for name in names if name == path.stem + ending]
    close = same_stem or difflib.get_close_matches(path.name, names, 1, 0.75)
    return f"; is it {path.with_name(close[0])}?" if close else ""


def instead_of_model(path: Path) -> str | None:
    """What to do with a file that cannot be a model file; None where it may be one."""
    kind, name = kind_of_file(path), shlex.quote(str(path))
    match kind:
        case "text":
            return None
        case "empty file":
            return "is an empty file; 'elver new tendon-arm' writes a model file to start from"
        case "netCDF file":
            return (
                f"is a netCDF file, as runs are, not a model file; look at the run with 'elver info {name}', "
                f"'elver report {name}' or 'elver view {name}'"
            )
        case "XML file":
            return f"is an XML file, not a model file (TOML); a robot in URDF is read by read_urdf({str(path)!r})"
    return f"is a {kind}, not a model file (TOML); 'elver new tendon-arm' writes one to start from"


def instead_of_run(path: Path) -> str | None:
    """What to do with a file that cannot be a run; None where it may be one."""
    kind, name = kind_of_file(path), shlex.quote(str(path))
    match kind:
        case "netCDF file":
            return None
        case "folder":
            return "is a folder; give the name of a run in it (.nc)"
        case "empty file":
            return "is an empty file, not a run; compute it again, for example with 'elver run MODEL.toml'"
        case "text" if path.suffix.lower() == ".toml":
            return f"a model file, not a run; compute it first: elver run {name}"
    return f"not readable (it is no netCDF-4 file): a {kind}; expected a run that elver saved (netCDF, .nc)"
