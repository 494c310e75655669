"""The command line: ``elver new | check | run | equilibrium | info | report | export | view | schema`` and more.

Only this layer prints and sets exit codes: 0 done, 1 could not solve (or a metric missed its tolerance),
2 bad input, 130 interrupted. Importing it loads neither NumPy nor Numba, so that help appears at once; each
command imports what it needs when it runs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from elver.cli import export, report, view
from elver.cli.model_commands import add_model_commands
from elver.cli.notes import warnings_as_notes

__all__ = ["app", "main"]


class _Commands(TyperGroup):
    """Turns the errors of the library into one red line and an exit code, its warnings into yellow ones; other errors
    are ours to see."""

    def invoke(self, ctx: Any) -> Any:
        try:
            with warnings_as_notes():
                return super().invoke(ctx)
        except KeyboardInterrupt as error:
            _complain("interrupted", str(error).replace(".result and in ", ""))
            raise typer.Exit(130) from None
        except Exception as error:
            if "elver.errors" not in sys.modules:  # then it is none of them, and NumPy need not be loaded
                raise
            from elver.errors import BadInput, CannotWrite, NotConverged

            if isinstance(error, BadInput):
                _complain("bad input", str(error))
                raise typer.Exit(2) from None
            if isinstance(error, NotConverged):
                _complain("not solved", str(error))
                raise typer.Exit(1) from None
            if isinstance(error, CannotWrite):
                _complain("not written", str(error))
                raise typer.Exit(1) from None
            raise


app = typer.Typer(
    name="elver",
    cls=_Commands,
    help="Slender elastic robots: exact statics and implicit dynamics of actuated rods.\n\n"
    "Start with:  elver gallery run boyer-2023-tendon-arm",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
gallery_app = typer.Typer(
    help="Published results, reproduced: list them, run one.\n\nExample:  elver gallery run elastica --quick",
    no_args_is_help=True,
)
add_model_commands(app)
app.add_typer(gallery_app, name="gallery")


@gallery_app.command("list")
def gallery_list() -> None:
    """Show every page of the gallery with the work it reproduces.

    Example:  elver gallery list
    """
    from elver.cli.gallery import list_pages

    list_pages()


@gallery_app.command("run")
def gallery_run(
    name: Annotated[str, typer.Argument(help="Page, as shown by 'elver gallery list'.")],
    quick: Annotated[bool, typer.Option("--quick", help="Coarser and shorter; no animation.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for figure, run and metrics.", show_default="out/NAME"),
    ] = None,
) -> None:
    """Reproduce one page and compare it with the published numbers.

    Writes figure.png, run.nc and metrics.json (and, where a page has one, animation.gif with still.png).
    Exit code 1 when a metric misses its tolerance.

    Example:  elver gallery run boyer-2023-tendon-arm --out out/demo
    """
    from elver.cli.gallery import run_page

    raise typer.Exit(run_page(name, quick=quick, out=out))


@app.command("bench")
def bench_rows(
    peers: Annotated[
        bool, typer.Option("--peers", help="Also run the other tools that are installed.")
    ] = False,
    json: Annotated[
        Path | None,
        typer.Option(help="Write the rows to this file.", show_default=False),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Run this row; may be repeated.", show_default=False),
    ] = None,
) -> None:
    """Measure speed at stated accuracy, and print one table.

    Times are CPU time of a warm run, the best of several. Exit code 1 when a row misses its goal.

    Example:  elver bench --only static-cantilever-1e-6 --json bench.json
    """
    from elver.cli.bench import run_bench

    raise typer.Exit(run_bench(peers=peers, json_path=json, only=only or ()))


app.command("report")(report.command)
app.command("export")(export.command)
app.command("view")(view.command)


@app.command("warmup")
def compile_kernels() -> None:
    """Compile the numeric core ahead of time (a minute or two once, then cached).

    Example:  elver warmup
    """
    import time

    from rich.console import Console

    from elver.kernels import warmup

    console = Console(highlight=False)
    start = time.perf_counter()
    with console.status("compiling the numeric core, once per machine ..."):
        warmup()
    console.print(f"numeric core ready ({time.perf_counter() - start:.1f} s)")


@app.command("version")
def show_version() -> None:
    """Print the version of elver, Python and the numeric libraries.

    Example:  elver version
    """
    typer.echo(_versions())


def _version_asked(on: bool) -> None:
    if on:
        typer.echo(_versions())
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_version_asked)
    ] = False,
) -> None:
    """Options of the command itself."""


def _versions() -> str:
    import platform
    from importlib.metadata import PackageNotFoundError, version

    from elver import __version__

    def found(name: str) -> str:
        try:
            return version(name)
        except PackageNotFoundError:
            return "missing"

    libraries = ", ".join(f"{name} {found(name)}" for name in ("numpy", "scipy", "numba", "xarray"))
    return f"elver {__version__} (Python {platform.python_version()}, {libraries})"


def main() -> None:
    """Entry point of the ``elver`` command, and of ``python -m elver``."""
    app(prog_name="elver")


def _complain(what: str, message: str) -> None:
    from rich.console import Console
    from rich.text import Text

    line = Text(what, style="bold red").append(f": {message}" if message else "", style="red")
    Console(stderr=True).print(line, soft_wrap=True)
