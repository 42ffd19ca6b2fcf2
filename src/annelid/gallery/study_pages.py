"""The files of a study: its first plot, a preview in which the plots appear, and a page with its numbers and plots."""

from __future__ import annotations

import base64
import html
import math
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from annelid.core.device import device as choose_device
from annelid.core.errors import AnnelidError
from annelid.core.files import read_bytes, replaced, write_text
from annelid.core.measurement import Measurement, measured_table
from annelid.core.progress import Progress
from annelid.gallery.pictures import PAGE, PICTURE, PREVIEW, write_preview
from annelid.studies.registry import study_class
from annelid.studies.study import Study
from annelid.studies.support.resumable import Resumable
from annelid.view.annotate import pillow

_WIDTH, _FRAMES = 360, 24  # of a preview
_PLOTS = (".png",)


def write_study(name: str, folder: Path, *, device: str = "auto", threads: int | None = None) -> None:
    """Run the quick form of a study, and write what it found."""
    kind: Any = study_class(name)
    with tempfile.TemporaryDirectory() as scratch:
        study: Study = kind(quick=True)
        study = study.inside(Path(scratch)) if isinstance(study, Resumable) else study
        with Progress(name, 1.0, quiet=True) as progress:
            found = study.compute(choose_device(device), threads, progress)
        plots = [path for path in study.plot(found, Path(scratch)) if path.suffix in _PLOTS]
        if not plots:
            raise AnnelidError(f"the study {name} has drawn nothing.")
        _write_page(name, (kind.__doc__ or "").strip(), study.measure(found), plots, folder / PAGE)
        write_preview(_appearing(plots), folder / PREVIEW)
        with replaced(folder / PICTURE) as temporary:
            shutil.copyfile(plots[0], temporary)


def _appearing(plots: Sequence[Path]) -> list[np.ndarray]:
    """Images in which each plot appears from the left to the right."""
    image_kind = pillow()[0]
    shown = []
    first_height = 0
    each = max(2, math.ceil(_FRAMES / len(plots)))
    for path in plots:
        with image_kind.open(path) as opened:
            whole = opened.convert("RGB")
        first_height = first_height or round(_WIDTH * whole.height / whole.width)
        pixels = np.asarray(whole.resize((_WIDTH, first_height)))
        for part in np.linspace(0.2, 1.0, each):
            image = np.full_like(pixels, 255)
            columns = round(_WIDTH * float(part))
            image[:, :columns] = pixels[:, :columns]
            shown.append(image)
    return shown


def _write_page(name: str, text: str, measured: Sequence[Measurement], plots: Sequence[Path], path: Path) -> None:
    pictures = "".join(
        f'<img alt="{html.escape(plot.stem)}" src="data:image/png;base64,{_encoded(plot)}">' for plot in plots
    )
    table = measured_table("Measurements", measured)
    page = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{name}</title><style>{_STYLE}</style>'
        f"<h1>{name}</h1><p>{html.escape(text)}</p><p>The quick form: <code>annelid study {name} --quick</code>.</p>"
        f"{pictures}{table}</html>\n"
    )
    write_text(path, page)


def _encoded(path: Path) -> str:
    return base64.b64encode(read_bytes(path)).decode("ascii")


_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}img{max-width:100%}"
    "td,th{padding:.1rem .8rem;text-align:left}"
)
