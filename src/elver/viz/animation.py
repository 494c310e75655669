"""A run as a moving picture: rods and bodies shaded, the ways of tips and bodies behind them, the time above.

GIF is written with Pillow, which matplotlib brings; MP4 (H.264) with the ffmpeg that the wheel imageio-ffmpeg brings.
Ctrl-C ends a film early: what was drawn until then is kept as a film that plays.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Line3DCollection
from PIL import Image
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from elver.errors import BadInput, Interrupted, as_path, positive
from elver.integrators.runs import as_run
from elver.viz.history import Cast, cast_of
from elver.viz.scene import Scene, surface_of, surface_of_body
from elver.viz.style import COLOURS, style
from elver.viz.tube import Surface, join

if TYPE_CHECKING:
    from elver.integrators.runs import Seen

__all__ = ["animate", "pleasant_speed", "write_gif", "write_mp4"]


def animate(
    run: Seen,
    path: str | os.PathLike[str],
    *,
    fps: float = 20.0,
    speed: float | None = None,
    still: str | os.PathLike[str] | None = None,
    still_time: float | None = None,
    view: tuple[float, float] | None = None,
    title: str = "",
    size: tuple[float, float] = (6.4, 5.4),
    dpi: float = 100.0,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Draw ``run`` to ``path`` (.gif or .mp4) and return it; an equilibrium or a system at rest stands still in it.

    ``fps`` pictures per second; ``speed`` is simulated seconds per second of film (chosen so that the film
    lasts 1.5 to 6 s if not given, and said in the picture). ``still`` is a picture (.png, .pdf, .svg) of the instant
    ``still_time`` [s] (the middle of the run if not given). ``view`` is elevation and azimuth in degrees (if not given,
    what lies flat is seen from further above). ``size`` is in inches, with ``dpi`` dots each, twice as many in the
    still. ``progress(drawn, all)`` is called after each picture; without it a terminal shows a bar.

    Ctrl-C keeps a film of what was drawn until then, and raises :class:`~elver.errors.Interrupted` with its path.
    """
    run = as_run("animate", run)
    target = _target(path, (".mp4", ".gif"), "a film")
    picture = None if still is None else _target(still, (".png", ".pdf", ".svg"), "a still")
    fps = positive("fps", fps, "pictures/s")
    if target.suffix.lower() == ".gif" and fps > 50.0:
        raise BadInput(f"fps = {fps:g} pictures/s: a GIF shows at most 50; give fps=50.0, or an .mp4 file")
    dpi = positive("dpi", dpi, "dots/inch")
    encoder = _encoder(target) if target.suffix.lower() == ".mp4" else ""
    cast = cast_of(run)
    time = cast.time
    duration = float(time[-1] - time[0])
    if speed is None:
        speed = pleasant_speed(duration)
    speed = positive("speed", speed, "s/s")

    with style():
        film = _Film(cast, view=view, title=title, size=size, dpi=dpi, speed=speed)
        count = max(1, round(duration / speed * fps))
        instants = np.linspace(time[0], time[-1], count + 1)
        if picture is not None:
            film.draw((time[0] + time[-1]) / 2 if still_time is None else still_time)
            film.figure.savefig(picture, dpi=2 * dpi)
        with _bar(len(instants)) if progress is None else nullcontext(progress) as told:
            pictures = _counted(film.pictures(instants), len(instants), told)
            if encoder:
                write_mp4(target, pictures, fps, encoder)
            else:
                write_gif(target, pictures, fps)
    return target


def _target(path: str | os.PathLike[str], endings: tuple[str, ...], what: str) -> Path:
    target = as_path("animate", path, f"film{endings[-1]}")
    if target.suffix.lower() not in endings:
        better = target.with_suffix(endings[0]).name if target.name else f"film{endings[0]}"
        raise BadInput(f"{target}: {what} is a {', '.join(endings[:-1])} or {endings[-1]} file, such as {better}")
    if not target.absolute().parent.is_dir():
        raise BadInput(f"{target}: the folder {target.parent} does not exist; create it first")
    return target


@contextmanager
def _bar(count: int) -> Iterator[Callable[[int, int], None]]:
    """A bar with the pictures drawn so far, like that of ``elver run``; nothing where no one looks."""
    bar = Progress(
        TextColumn("{task.completed} of {task.total} pictures"),
        BarColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True, highlight=False),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    with bar:
        task = bar.add_task("", total=count)
        yield lambda drawn, _: bar.update(task, completed=drawn)


class _Film:
    """One figure whose parts, shadow, traces and clock are moved from picture to picture."""

    def __init__(
        self,
        cast: Cast,
        *,
        view: tuple[float, float] | None,
        title: str,
        size: tuple[float, float],
        dpi: float,
        speed: float,
    ) -> None:
        self.cast, self.ways = cast, cast.traces
        self.figure = Figure(figsize=size, dpi=dpi, facecolor="white")
        self.canvas = FigureCanvasAgg(self.figure)
        axes: Any = self.figure.add_axes((0.0, 0.0, 1.0, 0.94), projection="3d")
        self.scene = Scene.of(axes, cast.rods, view, cast.bodies)
        self.scene.prepare(width_by_height=size[0] / (0.94 * size[1]))
        self.least_radius = 0.006 * self.scene.size
        ink, grey = COLOURS["ink"], COLOURS["grey"]
        self.figure.text(0.04, 0.945, title, fontsize=13, weight="bold", color=ink)
        self.clock = self.figure.text(0.96, 0.945, "", fontsize=12, color=ink, ha="right", family="monospace")
        note = f"grid {self.scene.grid_step:g} m"
        if abs(speed - 1.0) > 1e-3:
            note += f"   {speed:.2g}\N{MULTIPLICATION SIGN} real time"
        self.figure.text(0.04, 0.035, note, fontsize=9, color=grey)

        first = self._surface(0)
        self.shadow = self.scene.add_shadow(first)
        self.trace = Line3DCollection(
            [way[:1] for way in self.ways], linewidths=2.0, zorder=5, clip_on=False, capstyle="round"
        )
        axes.add_collection3d(self.trace)
        self.parts = self.scene.add(self.scene.visible(first))

    def draw(self, instant: float) -> None:
        """Move everything to the stored step nearest to ``instant`` [s]."""
        time = self.cast.time
        step = int(np.argmin(np.abs(time - instant)))
        surface = self._surface(step)
        self.scene.move(self.parts, self.scene.visible(surface))
        self.scene.move_shadow(self.shadow, surface)
        self._draw_trace(step)
        self.clock.set_text(f"t = {time[step]:.2f} s")

    def pictures(self, instants: np.ndarray) -> Iterator[Image.Image]:
        for instant in instants:
            self.draw(instant)
            self.canvas.draw()
            yield Image.fromarray(np.asarray(self.canvas.buffer_rgba())[..., :3].copy())

    def _surface(self, step: int) -> Surface:
        cast, size = self.cast, self.scene.size
        rods = [surface_of(rod, step, self.least_radius) for rod in cast.rods]
        return join(rods + [surface_of_body(body, step, size, cast.marker) for body in cast.bodies])

    def _draw_trace(self, step: int) -> None:
        segments, colours = [], []
        accent = np.array(to_rgb(COLOURS["accent"]))
        for whole in self.ways:
            way = whole[max(0, step - 400) : step + 1]
            parts = np.stack([way[:-1], way[1:]], axis=1)
            fresh = np.linspace(0.1, 1.0, len(parts))[:, None]
            segments += list(parts)
            colours += list(fresh * accent + (1.0 - fresh))  # fades to white; transparency would show the joints
        self.trace.set_segments(segments)
        self.trace.set_color(colours)


def pleasant_speed(duration: float) -> float:
    """Real time where the film then lasts between 1.5 and 6 s, else a round factor that brings it there."""
    if duration <= 0.0 or 1.5 <= duration <= 6.0:
        return 1.0
    factors = [m * 10.0**p for p in range(-6, 7) for m in (1.0, 2.0, 5.0)]
    return min(factors, key=lambda f: abs(np.log(duration / f / 4.0)))


def _counted(
    pictures: Iterator[Image.Image], count: int, progress: Callable[[int, int], None]
) -> Iterator[Image.Image]:
    for done, picture in enumerate(pictures, start=1):
        yield picture
        progress(done, count)


def _encoder(target: Path) -> str:
    """The ffmpeg of the wheel, else one of the machine."""
    try:
        import imageio_ffmpeg

        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except (ImportError, RuntimeError):  # the wheel has no program for this kind of machine
        found = shutil.which("ffmpeg")
    if found is None:
        raise BadInput(f"{target}: MP4 needs ffmpeg: pip install imageio-ffmpeg, or choose a .gif file")
    return found


def write_mp4(target: Path, pictures: Iterator[Image.Image], fps: float, encoder: str) -> None:
    """Pictures of one size as H.264, ``fps`` a second, in the form that browsers and slides play.

    Ctrl-C ends the film with the pictures that there are, and raises Interrupted.
    """
    first = next(pictures)
    width, height = (2 * (side // 2) for side in first.size)  # the usual colour format halves both
    box = (0, 0, width, height)
    with _beside(target) as temporary:
        command = [
            encoder, "-y", "-loglevel", "error",
            "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{fps:g}", "-i", "-",
            "-c:v", "libx264", "-crf", "18", "-pix_fmt", "yuv420p", "-movflags", "+faststart",
            "-f", "mp4", str(temporary),
        ]  # fmt: skip
        written, stopped = 0, False
        # in a session of its own, so that Ctrl-C in a terminal does not reach it
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        ) as process:
            assert process.stdin is not None
            assert process.stderr is not None
            try:
                for picture in chain([first], pictures):
                    process.stdin.write(picture.crop(box).tobytes())
                    written += 1
            except KeyboardInterrupt:
                stopped = True
            except BrokenPipeError:
                pass  # it has stopped, and says why
            except BaseException:
                process.kill()
                raise
            with suppress(BrokenPipeError):
                process.stdin.close()
            said = process.stderr.read().decode(errors="replace").strip()
        if process.returncode != 0:
            raise BadInput(f"{target}: ffmpeg could not write the film ({said})")
    if stopped:
        raise _interrupted(target, written)


def write_gif(target: Path, pictures: Iterator[Image.Image], fps: float) -> None:
    """Pictures of one size as a film that repeats, ``fps`` a second, resting on the last.

    Ctrl-C ends the film with the pictures that there are, and raises Interrupted.
    """
    frames, stopped = [next(pictures)], False
    try:
        for picture in pictures:
            frames.append(picture)
    except KeyboardInterrupt:
        stopped = True
    # One palette for the film, taken from a sheet of pictures across it: colours do not flicker.
    chosen = [frames[i] for i in sorted({round(k) for k in np.linspace(0, len(frames) - 1, 8)})]
    sheet = Image.new("RGB", (chosen[0].width, chosen[0].height * len(chosen)))
    for row, picture in enumerate(chosen):
        sheet.paste(picture, (0, row * picture.height))
    palette = sheet.quantize(255, method=Image.Quantize.MEDIANCUT)
    indexed = [_with_palette(frame, palette) for frame in frames]
    durations = [round(1000.0 / fps)] * len(indexed)
    durations[-1] = 1200  # rest on the last picture before starting again
    with _beside(target) as temporary:
        indexed[0].save(
            temporary,
            format="GIF",
            save_all=True,
            append_images=indexed[1:],
            duration=durations,
            loop=0,
            optimize=False,
        )
    if stopped:
        raise _interrupted(target, len(frames))


def _interrupted(target: Path, count: int) -> Interrupted:
    return Interrupted(f"{target} ends early, with the {count} pictures drawn until then", result=target)


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """A file beside ``target`` to write to; it takes its place when all went well."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield temporary
        os.replace(temporary, target)
    except OSError as error:
        raise BadInput(f"{target}: cannot be written ({error.strerror or error})") from None
    finally:
        temporary.unlink(missing_ok=True)


def _with_palette(frame: Image.Image, palette: Image.Image) -> Image.Image:
    """``frame`` in the colours of ``palette`` (255 of them), and white kept white in the last one."""
    quantized = frame.quantize(palette=palette, dither=Image.Dither.NONE)
    indices = np.array(quantized)
    indices[np.all(np.asarray(frame) == 255, axis=2)] = 255  # quantizing averages it with its neighbours
    result = Image.fromarray(indices)
    colours = (palette.getpalette() or [])[: 3 * 255]
    result.putpalette([*colours, *[255] * (3 * 256 - len(colours))])
    return result
