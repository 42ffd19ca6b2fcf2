"""Make docs/images/front.webp, the moving picture of the front page, from four previews of out/gallery."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageSequence

from annelid.gallery.pictures import PREVIEW, write_preview

ROOT = Path(__file__).parents[2]
SHOWN = ("scene/worm", "scene/walker", "scene/soft-gripper", "scene/sandworm")
FRAMES, GAP = 24, 4


def images(key: str) -> list[np.ndarray]:
    """As many images as all have, evenly spread over the preview of an entry."""
    with Image.open(ROOT / "out" / "gallery" / key / PREVIEW) as preview:
        found = [np.asarray(image.convert("RGB")) for image in ImageSequence.Iterator(preview)]
    return [found[i] for i in np.linspace(0, len(found) - 1, FRAMES).round().astype(int)]


def tiled(four: tuple[np.ndarray, ...]) -> np.ndarray:
    """Two by two, with white lines between."""
    height, width, _ = four[0].shape
    sheet = np.full((2 * height + GAP, 2 * width + GAP, 3), 255, np.uint8)
    for place, image in enumerate(four):
        row, column = divmod(place, 2)
        top, left = row * (height + GAP), column * (width + GAP)
        sheet[top : top + height, left : left + width] = image
    return sheet


if __name__ == "__main__":
    write_preview([tiled(four) for four in zip(*map(images, SHOWN), strict=True)], ROOT / "docs/images/front.webp")
