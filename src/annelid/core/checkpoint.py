"""Checkpoints: a state on disk, with what is needed to refuse a file that does not belong to the simulation."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import h5py
import numpy as np

from annelid.core.errors import FileFormatError
from annelid.core.files import replaced
from annelid.core.state import State, arrays_hash, state_arrays, state_hash

FORMAT, VERSION = "annelid-checkpoint", 1


Arrays = dict[str, np.ndarray]


def save_checkpoint(
    path: str | os.PathLike[str],
    state: State,
    fingerprint: str,
    dt: float,
    step: int,
    *,
    changes: Mapping[str, np.ndarray] | None = None,
    settings: Mapping[str, str] | None = None,
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
    """
    changed = dict(changes or {})
    with replaced(Path(path)) as temporary, h5py.File(temporary, "w") as file:
        file.attrs.update(format=FORMAT, version=VERSION, model=fingerprint, dt=dt, step=step)
        file.attrs["state"] = state_hash(state)
        file.create_group("settings").attrs.update(settings or {})
        for name, array in state_arrays(state).items():
            file[f"state/{name}"] = array.numpy()
        if changed:
            file.attrs["changes"] = arrays_hash(changed)
            for name, values in changed.items():
                file[f"changes/{name}"] = values


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
    if not path.is_file():
        raise FileFormatError(f"there is no checkpoint {path}.")
    try:
        with h5py.File(path, "r") as file:
            _require_format(path, file)
            _require_settings(path, file, settings or {})
            step = _checked_step(path, file, fingerprint, dt)
            arrays = {name: _read(path, data, finite=finite) for name, data in file["state"].items()}
            if file.attrs["state"] != arrays_hash(arrays):
                raise FileFormatError(f"{path} is damaged: its state is not the one that was saved.")
            if "clock" in arrays and (arrays["clock"] != step).any():
                raise FileFormatError(f"{path} is damaged: its steps and its clock disagree.")
            changes = {name: _read(path, data, finite=False) for name, data in file.get("changes", {}).items()}
            if changes and file.attrs["changes"] != arrays_hash(changes):
                raise FileFormatError(f"{path} is damaged: the changes in it are not those that were saved.")
    except (OSError, KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(f"{path} is not a checkpoint, or it is damaged ({type(error).__name__}).") from error
    fill(arrays, changes)
    return step


def _read(path: Path, data: h5py.Dataset, *, finite: bool = True) -> np.ndarray:
    """One array, refused before it is allocated if the file cannot hold it."""
    if data.nbytes > path.stat().st_size:
        raise FileFormatError(f"{path} is damaged: array {data.name} is larger than the file.")
    array = np.asarray(data)
    if finite and not np.isfinite(array).all():
        raise FileFormatError(f"{path} is damaged: array {data.name} is not finite.")
    return array


def _require_format(path: Path, file: h5py.File) -> None:
    if file.attrs.get("format") != FORMAT:
        raise FileFormatError(f"{path} is not a checkpoint of Annelid.")
    if file.attrs["version"] != VERSION:
        raise FileFormatError(f"{path} has version {file.attrs['version']}; this Annelid reads version {VERSION}.")


def _require_settings(path: Path, file: h5py.File, settings: Mapping[str, str]) -> None:
    saved = file["settings"].attrs if "settings" in file else {}
    for name, wanted in settings.items():
        if name not in saved:
            raise FileFormatError(f"{path} was saved by something without the setting {name}, which is {wanted} here.")
        if saved[name] != wanted:
            raise FileFormatError(
                f"{path} was saved with {name} = {saved[name]}, not {wanted}: build it as it was then."
            )


def _checked_step(path: Path, file: h5py.File, fingerprint: str, dt: float) -> int:
    attributes = file.attrs
    physics, wanted = (str(identity).partition("-")[0] for identity in (attributes["model"], fingerprint))
    if physics != wanted:
        raise FileFormatError(f"{path} is a checkpoint of {physics}, and this is a simulation of {wanted}.")
    if attributes["model"] != fingerprint:
        raise FileFormatError(
            f"{path} belongs to another model (other elements, materials or settings): "
            "build the simulation as it was when the checkpoint was saved."
        )
    if attributes["dt"] != dt:
        raise FileFormatError(f"{path} was saved with dt = {attributes['dt']:g} s, not {dt:g} s.")
    return int(attributes["step"])
