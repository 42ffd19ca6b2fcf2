"""Writing a recording as PVD, a list of times and files, with a VTU file for each frame beside it: for ParaView."""

from __future__ import annotations

from pathlib import Path

from annelid.core.errors import InvalidValue
from annelid.core.vtu import write_list
from annelid.view.files.reel import Reel
from annelid.view.files.vtu import write_vtu


def write_pvd(reel: Reel, path: Path) -> None:
    """Write the frames to the folder `NAME.frames`, then the list, so that it never names a file that is not there."""
    folder = path.with_name(f"{path.stem}.frames")
    if folder.exists() and not folder.is_dir():
        raise InvalidValue(f"{folder} is a file, where the frames of {path.name} belong: choose another name.")
    digits = max(4, len(str(len(reel) - 1)))
    written: list[tuple[float, str]] = []
    for number, (time, snapshot) in enumerate(reel.frames()):
        name = f"frame_{number:0{digits}d}.vtu"
        write_vtu(snapshot, folder / name)
        written.append((time, f"{folder.name}/{name}"))
    write_list(path, written)
    kept = {name for _, name in written}
    for old in folder.glob("frame_*.vtu"):  # of an earlier export with more frames
        if f"{folder.name}/{old.name}" not in kept:
            old.unlink()
