"""Writing a recording as PVD, a list of times and files, with a VTU file for each frame beside it: for ParaView."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import quoteattr

from annelid.core.errors import InvalidValue
from annelid.core.files import replaced
from annelid.view.files.reel import Reel
from annelid.view.files.vtu import write_vtu


def write_pvd(reel: Reel, path: Path) -> None:
    """Write the frames to the folder `NAME.frames`, then the list, so that it never names a file that is not there."""
    folder = path.with_name(f"{path.stem}.frames")
    if folder.exists() and not folder.is_dir():
        raise InvalidValue(f"{folder} is a file, where the frames of {path.name} belong: choose another name.")
    digits = max(4, len(str(len(reel) - 1)))
    lines = ['<?xml version="1.0"?>', '<VTKFile type="Collection" version="0.1" byte_order="LittleEndian">']
    lines += ["<Collection>"]
    written = set()
    for number, (time, snapshot) in enumerate(reel.frames()):
        name = f"frame_{number:0{digits}d}.vtu"
        write_vtu(snapshot, folder / name)
        written.add(name)
        file = quoteattr(f"{folder.name}/{name}")
        lines.append(f'<DataSet timestep="{time!r}" group="" part="0" file={file}/>')
    with replaced(path) as temporary:
        temporary.write_text("\n".join([*lines, "</Collection>", "</VTKFile>", ""]), encoding="utf-8")
    for old in folder.glob("frame_*.vtu"):  # of an earlier export with more frames
        if old.name not in written:
            old.unlink()
