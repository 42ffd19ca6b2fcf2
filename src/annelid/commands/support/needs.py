"""What a command needs besides what Annelid always brings: read from its arguments and told before Warp is imported."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from annelid.core.errors import MissingPackage
from annelid.core.files import read_text
from annelid.core.packages import require_installed
from annelid.scenes.registry import DRAWN, INVERSE


@dataclass(frozen=True)
class Need:
    """A package that only some commands need; see `core.packages.optional`."""

    module: str
    purpose: str
    extra: str
    package: str = ""

    def require(self) -> None:
        """Refuse to go on where it is missing."""
        require_installed(self.module, purpose=self.purpose, extra=self.extra, package=self.package)


_VIEWER = Need("viser", "the viewer", "view")
_PICTURE = Need("PIL", "a picture", "view", "Pillow")
_MP4 = Need("imageio_ffmpeg", "MP4", "view", "imageio-ffmpeg")
_PLOT = Need("matplotlib", "a plot", "view")
_PLOT_OF_STUDY = Need("matplotlib", "a plot (leave it out with --no-plot)", "view")
_RAY = Need("ray", "executor 'ray'", "ray")
_OPTIMISER = Need("daqp", "inverse control", "fem")
_TRAINING = (
    Need("gymnasium", "training", "rl"),
    Need("stable_baselines3", "training", "rl", "stable-baselines3"),
    Need("torch", "training", "rl"),
)
_SEARCHERS = {
    "cma": Need("cma", "searcher 'cma'", "evolve"),
    "map-elites": Need("ribs", "searcher 'map-elites'", "evolve"),
    "nsga2": Need("pymoo", "searcher 'nsga2'", "evolve"),
}
_BENCHES = {"view": _VIEWER, "fem": _OPTIMISER}
_VIDEOS = {".gif": (_PICTURE,), ".mp4": (_MP4, _PICTURE)}
_USD = Need("pxr", "USD", "export", "usd-core")
_RERUN = Need("rerun", "a recording for Rerun", "export", "rerun-sdk")
_EXPORTS = {**_VIDEOS, ".usda": (_USD,), ".usdc": (_USD,), ".usd": (_USD,), ".rrd": (_RERUN,)}


def require_packages(command: str, arguments: Sequence[str]) -> None:
    """Refuse a command that could not do what it is asked for, and tell what it will leave out."""
    if not arguments or {"-h", "--help", "--list"} & set(arguments):
        return
    given = [text.replace("_", "-") if text.startswith("--") else text for text in arguments]
    for need in _needed(command, given):
        need.require()
    for need in _wanted(command, given):
        try:
            need.require()
        except MissingPackage as error:
            print(f"annelid: it will be left out: {error}", file=sys.stderr)


def _needed(command: str, given: Sequence[str]) -> list[Need]:
    """Packages without which it cannot be done."""
    needs: list[Need] = []
    if command in ("run", "view", "picture", "video") and given[0] in INVERSE:
        needs.append(_OPTIMISER)
    if command == "view":
        needs.append(_VIEWER)
    elif command in ("picture", "gallery"):
        needs.append(_PICTURE)
    elif command == "video":
        needs += _VIDEOS.get(Path(_value(given, "--out")).suffix.lower(), _VIDEOS[".mp4"])
    elif command == "export" and len(given) > 1:
        needs += _EXPORTS.get(Path(given[1]).suffix.lower(), ())
    elif command in ("study", "identify") and "--no-plot" not in given:
        needs.append(_PLOT_OF_STUDY)
    elif command == "materials" and _value(given, "--plot"):
        needs.append(_PLOT)
    elif command == "bench" and given[0] in _BENCHES:
        needs.append(_BENCHES[given[0]])
    elif command == "train":
        needs += _TRAINING
    elif command == "evolve":
        needs += _needs_of_search(given)
    if command in ("train", "evolve") and "--video" in given:
        needs += _VIDEOS[".mp4"]
    return needs


def _needs_of_search(given: Sequence[str]) -> list[Need]:
    needs = [_RAY] if _value(given, "--executor") == "ray" or _value(given, "--ray-address") else []
    named = [text.removeprefix("searcher=") for text in given if text.startswith("searcher=")]
    searcher = named[-1] if named else _searcher(Path(given[0]))
    return [*needs, _SEARCHERS[searcher]] if searcher in _SEARCHERS else needs


def _searcher(experiment: Path) -> str:
    """The searcher of an experiment in a file; whatever is wrong with the file is told by whoever reads all of it."""
    with suppress(OSError, ValueError, RecursionError, KeyError, TypeError):
        return str(tomllib.loads(read_text(experiment))["searcher"]["name"])
    return ""


def _wanted(command: str, given: Sequence[str]) -> list[Need]:
    """Packages for what a command adds to its results where it can."""
    if command == "run" and given[0] in DRAWN:
        return [_PICTURE, _PLOT]
    return [_PLOT] if command in ("train", "evolve") and "--no-plot" not in given else []


def _value(given: Sequence[str], option: str) -> str:
    """The value of an option, written with a blank or with =; nothing where it is not given."""
    for text, following in zip(given, [*given[1:], ""], strict=True):
        if text == option:
            return following
        if text.startswith(f"{option}="):
            return text.removeprefix(f"{option}=")
    return ""
