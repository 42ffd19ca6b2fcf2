"""The error family: one clear sentence each, with the offending value and what would be accepted.

Every error that a user can cause derives from `AnnelidError`; the command line prints its sentence and exits with
code 2.
"""

from __future__ import annotations

import difflib
import traceback
from collections.abc import Iterable
from typing import Any

_MOST_SUGGESTED = 3


class AnnelidError(Exception):
    """Base of every error that the library raises on purpose; its sentence is one line, whatever values it shows."""

    def __init__(self, *parts: object) -> None:
        super().__init__(*(_one_line(part) if isinstance(part, str) else part for part in parts))


class InvalidValue(AnnelidError, ValueError):
    """A parameter has a value that cannot be used."""


class TooLarge(InvalidValue, MemoryError):
    """Something would need more memory than the machine has."""


class InvalidMesh(AnnelidError, ValueError):
    """A surface mesh cannot be used: not closed, empty, or not readable as a mesh."""


class OwnFileFailed(AnnelidError):
    """A Python file of a user raised an error while it was read; that error is its cause."""


class UnknownName(AnnelidError, KeyError):
    """A name (scene, material, field...) that does not exist; the sentence suggests the nearest one, if one is near.

    Args:
        kind: What it should have been the name of.
        name: The name.
        known: Names that exist.
        hint: Where else the name is known, or what to do, in a sentence.
        lister: What lists the names, where they are too many for a sentence, such as "annelid gallery --list".
    """

    def __init__(
        self, kind: str, name: object, known: Iterable[str], *, hint: str | None = None, lister: str = ""
    ) -> None:
        known = sorted(known)
        near = _near(str(name), known, cutoff=0.8 if hint else 0.66)  # a letter of three may be wrong
        if near:
            hint = f"Did you mean {' or '.join(map(repr, near))}?" + (f" {hint}" if hint else "")
        names = f"Known: {', '.join(known)}." if known else "" if hint else "There are none yet."
        names = f"{lister} names all {len(known)}." if lister else names
        super().__init__(" ".join(filter(None, (f"there is no {kind} named {name!r}.", hint, names))))

    def __str__(self) -> str:  # KeyError would print the repr of the sentence
        return str(self.args[0])


class UnknownAttribute(UnknownName, AttributeError):
    """An attribute was set that the object does not have."""


class ReadOnly(AnnelidError, AttributeError):
    """An attribute was set that can only be read."""


class Unsupported(AnnelidError, TypeError):
    """A physics lacks an ability that another has; the sentence names those that have it.

    Args:
        physics: What was simulated.
        ability: What it cannot do.
        having: What can.
        remedy: What to do instead, in a sentence.
    """

    def __init__(self, physics: str, ability: str, having: Iterable[str], remedy: str) -> None:
        super().__init__(f"a simulation of {physics} cannot {ability}; one of {' or '.join(having)} can. {remedy}")


class MissingPackage(AnnelidError, ImportError):
    """An optional package is not installed."""


class StaleHandle(AnnelidError, ValueError):
    """A handle to a mass or spring that was removed."""


class DeviceUnavailable(AnnelidError, RuntimeError):
    """The device asked for does not exist on this machine."""


class FolderInUse(AnnelidError, RuntimeError):
    """Another process writes its results to the folder."""


class FileFormatError(AnnelidError, ValueError):
    """A checkpoint, recording or other file is damaged, foreign or of another version."""


class ViewerFailed(AnnelidError, RuntimeError):
    """The page of a simulation or recording cannot be served any longer."""


class StepTooLong(UserWarning):
    """The time step is above the stable one estimated for the model."""


class MeshRepaired(UserWarning):
    """Holes of a mesh were filled, as asked for; the sentence says how much of the surface is guessed."""


class UnlikeShape(UserWarning):
    """A body differs from the shapes that it was made of: a coarse lattice, or a part that holds none of it."""


class BeyondMeasured(UserWarning):
    """A solid is strained farther than the law of its material was measured."""


class InexactGradient(UserWarning):
    """A motion was not solved as exactly as its gradient supposes."""


class IndicesAreSlots(UserWarning):
    """Indices of masses in an edit count removed masses too, unlike the rows of `positions()`."""


class GrainsPushed(UserWarning):
    """Grains that began inside each other or inside a body were pushed apart or taken out, as asked for."""


class BeginsInside(UserWarning):
    """A body begins inside an obstacle, or inside another body that it can touch, which throws it out."""


class BedTooSmall(UserWarning):
    """Something that is pushed into grains is closer to a wall or floor, or fewer grains wide, than it should be."""


class UnlikelyUnit(UserWarning):
    """A number is so small or large that it may be meant in another unit."""


class FarAway(UserWarning):
    """A body is so far from the origin that numbers in single precision tell its points apart only coarsely."""


class FallsForever(UserWarning):
    """A body that nothing holds is simulated under gravity without anything to land on."""


class PartlyUsed(UserWarning):
    """A file says things that are not simulated; the sentence names them."""


class LeftBehind(UserWarning):
    """A clone lacks something that was attached to the simulation; the sentence names it."""


class SimulationDiverged(AnnelidError, ArithmeticError):
    """The state stopped being finite.

    Attributes:
        time: Simulated time of the last finite state [s].
        step: Step number of the last finite state.
    """

    def __init__(self, sentence: str, *, time: float, step: int) -> None:
        super().__init__(sentence)
        self.time = time
        self.step = step


def forget_locals(error: BaseException) -> None:
    """Let go of what was at hand where an error was raised: whoever keeps the error keeps no simulation with it."""
    each: BaseException | None = error
    while each is not None:
        traceback.clear_frames(each.__traceback__)
        each = each.__cause__ or each.__context__


def copied_error(error: BaseException) -> BaseException:
    """A copy of an error, to raise: whoever keeps the error does not keep what is at hand where the copy comes by."""
    kind = type(error)
    built_in: Any = next(each for each in kind.__mro__ if each.__module__ == "builtins")
    given = built_in.__reduce__(error)[1]
    copy = kind.__new__(kind, *given)
    built_in.__init__(copy, *given)
    vars(copy).update(vars(error))
    copy.__cause__, copy.__context__ = error.__cause__, error.__context__
    copy.__suppress_context__ = error.__suppress_context__
    return copy.with_traceback(error.__traceback__)


def _one_line(sentence: str) -> str:
    """A sentence without the line breaks of an array or of another error that it shows."""
    lines = sentence.splitlines()
    return " ".join(filter(None, map(str.strip, lines))) if len(lines) > 1 else sentence


def _near(name: str, known: Iterable[str], *, cutoff: float) -> list[str]:
    """Known names that were probably meant: letters in another order, a slip, a beginning, or most of it."""
    given, all_known = name.lower(), {each.lower(): each for each in known}
    near = [each for each in all_known if given and sorted(each) == sorted(given)]
    near = near or difflib.get_close_matches(given, all_known, n=1, cutoff=0.85)
    begun = [each for each in all_known if len(given) > 2 and each.startswith(given)]
    near = near[:1] or begun or difflib.get_close_matches(given, all_known, n=1, cutoff=cutoff)
    return [all_known[each] for each in near] if len(near) <= _MOST_SUGGESTED else []


class SlowTask(UserWarning):
    """A task is too slow to be learnt in the time that is given."""
