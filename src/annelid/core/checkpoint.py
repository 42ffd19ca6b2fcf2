"""Checkpoints: a state on disk, with what is needed to refuse a file that does not belong to the simulation."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from annelid.core.archives import Arrays, archive_header, read_archive, write_archive
from annelid.core.errors import FileFormatError, InvalidValue
from annelid.core.recording.file_kinds import CHECKPOINT, annelid_version, what_it_is
from annelid.core.state import State, state_arrays

KIND = CHECKPOINT


def save_checkpoint(
    path: str | os.PathLike[str],
    state: State,
    fingerprint: str,
    dt: float,
    step: int,
    *,
    changes: Mapping[str, np.ndarray] | None = None,
    settings: Mapping[str, str] | None = None,
    scene: str = "",
    file: str = "",
) -> None:
    """Write a state, whole or not at all.

    Args:
        path: File.
        state: The state.
        fingerprint: Identity of the model as it was built; it begins with its physics and a hyphen.
        dt: Time step [s].
        step: Steps done.
        changes: What has changed in the model since it was built, as arrays.
        settings: What else must agree where it is loaded, by name, in words.
        scene: Name of the scene, if it is one.
        file: The user's own file that the scene is from, if it is: FILE.py or FILE.py:NAME.
    """
    header = {"model": fingerprint, "dt": float(dt), "step": int(step), "settings": dict(settings or {})}
    header |= {"scene": scene, "file": file, "annelid": annelid_version()}
    arrays = {f"state/{name}": array.numpy() for name, array in state_arrays(state).items()}
    clock = arrays.get("state/clock")
    if clock is not None and (clock != step).any():  # nobody could load it
        raise InvalidValue(
            f"the state has done {int(clock.max())} steps, and its simulation only {step} of them: where an "
            "environment takes steps, save the environment instead."
        )
    write_archive(path, KIND, header, {**arrays, **{f"changes/{name}": a for name, a in (changes or {}).items()}})


def load_checkpoint(
    path: str | os.PathLike[str],
    fingerprint: str,
    dt: float,
    fill: Callable[[Arrays, Arrays], None],
    *,
    settings: Mapping[str, str] | None = None,
    finite: bool = True,
) -> int:
    """Read a state saved by a simulation of the same model, hand it to `fill`, and return its step.

    Args:
        path: File.
        fingerprint: Identity of the model as it was built.
        dt: Time step [s].
        fill: Takes the arrays of the state by name, and those that say what has changed in the model.
        settings: What else must be as it was saved; see `save_checkpoint`.
        finite: Whether to refuse a state that is not finite.
    """
    path = Path(path)
    _refuse_foreign(path)
    header, arrays = read_archive(path, KIND)
    _require_settings(path, header.get("settings"), settings or {})
    step = _checked_step(path, header, fingerprint, dt)
    state = _group(arrays, "state/")
    for name, array in state.items():
        if finite and not np.isfinite(array).all():
            raise FileFormatError(f"{path} is damaged: array {name} is not finite.")
    if "clock" in state and (state["clock"] != step).any():
        raise FileFormatError(f"{path} is damaged: its steps and its clock disagree.")
    fill(state, _group(arrays, "changes/"))
    return step


def _group(arrays: Arrays, prefix: str) -> Arrays:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _refuse_foreign(path: Path) -> None:
    """Say of files that a user may take for a checkpoint what they are."""
    if not path.is_file():
        raise FileFormatError(f"there is no checkpoint {path}.")
    if (archive_header(path) or {}).get("format") == KIND.format:
        return
    what = what_it_is(path)
    if what is not None:
        raise FileFormatError(f"{path} is not a checkpoint that this Annelid reads: it is {what}.")


def _require_settings(path: Path, saved: Any, settings: Mapping[str, str]) -> None:
    saved = saved if isinstance(saved, dict) else {}
    for name, wanted in settings.items():
        if name not in saved:
            raise FileFormatError(f"{path} was saved by something without the setting {name}, which is {wanted} here.")
        if saved[name] != wanted:
            raise FileFormatError(
                f"{path} was saved with {name} = {saved[name]}, not {wanted}: build it as it was then."
            )


def _checked_step(path: Path, header: Mapping[str, Any], fingerprint: str, dt: float) -> int:
    model, saved_dt, step = header.get("model"), header.get("dt"), header.get("step")
    if (
        not isinstance(model, str)
        or not isinstance(saved_dt, float)
        or type(step) is not int
        or not 0 <= step < 1 << 63
    ):
        raise FileFormatError(f"{path} is damaged: it does not say of what model and step it is.")
    physics, wanted = (identity.partition("-")[0] for identity in (model, fingerprint))
    if physics != wanted:
        raise FileFormatError(f"{path} is a checkpoint of {physics}, and this is a simulation of {wanted}.")
    if model != fingerprint:
        raise FileFormatError(
            f"{path} belongs to another model (other elements, materials, functions or settings): "
            "build the simulation as it was when the checkpoint was saved."
        )
    if saved_dt != dt:
        raise FileFormatError(f"{path} was saved with dt = {saved_dt:g} s, not {dt:g} s.")
    return step
