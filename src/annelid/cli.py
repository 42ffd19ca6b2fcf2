"""The command line: `annelid COMMAND`. Each command lives in a file of its own in `annelid.commands`.

Nothing heavy is imported up here, so that an interruption finds `main` already at work.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module

from annelid.commands.support.needs import require_packages
from annelid.commands.support.terminal import ends_tidily, imports_that_can_be_interrupted

COMMANDS = {
    "run": "Simulate a scene and write its results to out/NAME/",
    "view": "Watch a scene live in the browser, or a recording",
    "picture": "Make a picture (PNG) of a scene at a moment",
    "video": "Make a video (MP4 or GIF) of a scene, or of several",
    "export": "Turn a recording into a page, video, table or geometry",
    "study": "Repeat an experiment of a paper",
    "atlas": "Put all numbers of studies on one page",
    "evolve": "Search for robots: an experiment by name or TOML file",
    "train": "Train agents",
    "identify": "Find constants of a body from measured tracks",
    "materials": "List materials, their laws and sources, and draw them",
    "gallery": "Make pictures and recordings of all that has a name",
    "bench": "Measure throughput",
    "soak": "Let everything happen at once for minutes, and check it",
    "doctor": "Show devices and versions, and test that they work",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point; errors that a user or the machine can cause end with one sentence and exit code 2."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    warnings.showwarning = _show_warning
    with ends_tidily(for_good=arguments is None):
        if not given or given[0] in ("-h", "--help"):
            _help()
        elif given[0] == "--version":
            print(import_module("annelid").__version__)
        else:
            require_packages(given[0], given[1:])
            sys.exit(command_of(given[0])(given[1:]))


def command_of(name: str) -> Callable[[list[str]], int]:
    """The function of a command by its name."""
    with imports_that_can_be_interrupted():
        from annelid.core.errors import UnknownName

        if name not in COMMANDS:
            raise UnknownName("command", name, COMMANDS)
        command: Callable[[list[str]], int] = import_module(f"annelid.commands.{name}").command
    return command


def entries() -> dict[str, list[str]]:
    """What can be named after a command, from the lists that the commands themselves use."""
    from annelid.benches.registry import bench_names
    from annelid.envs.registration import environment_names
    from annelid.evolve.experiments import experiment_names
    from annelid.scenes.registry import scene_names
    from annelid.studies.registry import study_names

    return {
        "run": scene_names(),
        "study": study_names(),
        "evolve": experiment_names(),
        "train": environment_names(),
        "bench": bench_names(),
    }


def _help() -> None:
    with imports_that_can_be_interrupted():
        from rich.console import Console
        from rich.table import Table

        known = entries()
    console = Console(highlight=False)
    console.print("[bold]annelid[/bold] simulates soft robots and the loose ground that they live on.")
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 1))
    for name, text in COMMANDS.items():
        table.add_row(f"annelid {name}", text)
    console.print(table)
    console.print(f"Scenes: {', '.join(known['run'])}.")
    counts = {"study": "studies", "evolve": "experiments", "train": "tasks", "bench": "benches"}
    numbers = ", ".join(f"{len(known[name])} {what}" for name, what in counts.items())
    listed = f"{numbers}: annelid {'|'.join(counts)} --list."
    console.print(f"{listed} Your own: FILE.py:NAME.", markup=False)
    console.print("Commands take --help and --json; those that compute --device, most --threads.")


def _show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    print(f"annelid: warning: {message}", file=sys.stderr)
