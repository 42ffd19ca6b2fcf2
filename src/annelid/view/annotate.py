"""Words on pictures: captions, colour bars and category swatches, drawn with Pillow's built-in font."""

from __future__ import annotations

from typing import Any

import numpy as np

from annelid.core.packages import optional
from annelid.view.colors import Scale, color_table

_INK = (52, 58, 66, 255)
_PANEL = (255, 255, 255, 190)

# The built-in font knows ASCII and little more.
_ASCII = {"²": "^2", "³": "^3", "µ": "u", "μ": "u", "×": "x", "−": "-", "–": "-", "ε": "strain", "σ": "stress"}


def pillow() -> tuple[Any, Any, Any]:
    """Pillow's Image, ImageDraw and ImageFont."""
    image, draw, font = (
        optional(f"PIL.{name}", purpose="a picture", extra="view", package="Pillow")
        for name in ("Image", "ImageDraw", "ImageFont")
    )
    return image, draw, font


class Sheet:
    """A picture that is being written on.

    Args:
        image: The picture, shape [height, width, 3], uint8; it is copied.
    """

    def __init__(self, image: np.ndarray) -> None:
        Image, ImageDraw, ImageFont = pillow()
        self._picture = Image.fromarray(image).convert("RGBA")
        self._ink = Image.new("RGBA", self._picture.size, (0, 0, 0, 0))
        self._draw = ImageDraw.Draw(self._ink)
        self.width, self.height = self._picture.size
        self.unit = text_size((self.width, self.height))
        self._font = ImageFont.load_default(self.unit)

    def caption(self, text: str) -> None:
        """Write a line in the lower left corner."""
        if not text:
            return
        text, edge = printable(text), 0.9 * self.unit
        left, top, right, bottom = self._draw.textbbox((edge, self.height - edge), text, font=self._font, anchor="ls")
        pad = 0.45 * self.unit
        self._panel(left - pad, top - pad, right + pad, bottom + pad)
        self._draw.text((edge, self.height - edge), text, font=self._font, fill=_INK, anchor="ls")

    def legend(self, scale: Scale | None) -> None:
        """Draw what the colours mean in the upper right corner."""
        if scale is None:
            return
        swatches = [(label, color) for label, color in zip(scale.labels, _bytes(scale.table()), strict=False)]
        labels = [printable(label) for label, _ in swatches] or [text for _, text in ticks(scale)]
        title = printable(legend_title(scale))
        u = self.unit
        bar = u if swatches else 0.85 * u
        rows = len(swatches) * 1.5 * u - 0.5 * u if swatches else min(11.0 * u, 0.55 * self.height)
        widest = max(self._draw.textlength(text, font=self._font) for text in labels)
        inner = max(bar + 0.7 * u + widest, self._draw.textlength(title, font=self._font))
        right, top = self.width - 1.6 * u, 1.6 * u
        left = right - inner
        self._panel(left - 0.8 * u, top - 0.7 * u, right + 0.8 * u, top + 1.8 * u + rows + 0.9 * u)
        self._draw.text((left, top), title, font=self._font, fill=_INK, anchor="lt")
        if swatches:
            self._swatches(swatches, left, top + 1.8 * u)
        else:
            self._bar(scale, left, top + 1.8 * u, bar, rows)

    def footer(self, text: str, scale: Scale | None) -> None:
        """Write a line below a grid, and what its colours mean beside it, into a band of `footer_height`."""
        u, middle = self.unit, self.height - 0.5 * footer_height((self.width, self.height))
        self._draw.text((0.6 * u, middle), printable(text), font=self._font, fill=_INK, anchor="lm")
        x = self.width - 0.6 * u
        if scale is None:
            return
        if scale.labels:
            for label, color in reversed(list(zip(scale.labels, _bytes(scale.table()), strict=False))):
                x = self._word(printable(label), x, middle) - 1.2 * u
                box = (x, middle - 0.4 * u, x + 0.8 * u, middle + 0.4 * u)
                self._draw.rounded_rectangle(box, radius=0.2 * u, fill=(*color, 255))
                x -= 0.8 * u
        else:
            low, high = (f"{limit * 10.0 ** -exponent(scale):.3g}" for limit in scale.limits)
            x = self._word(high, x, middle) - 0.4 * u
            bar = np.repeat(color_table(scale.color_map, round(7 * u))[None], round(0.8 * u), axis=0)
            x -= bar.shape[1]
            self._paste(bar, x, middle - 0.4 * u)
            x = self._word(low, x - 0.4 * u, middle) - 0.8 * u
        self._word(printable(legend_title(scale)), x, middle)

    def _word(self, text: str, right: float, middle: float) -> float:
        """Write a word that ends at `right`; where it begins."""
        self._draw.text((right, middle), text, font=self._font, fill=_INK, anchor="rm")
        return float(right - self._draw.textlength(text, font=self._font))

    def _paste(self, colors: np.ndarray, left: float, top: float) -> None:
        Image, _, _ = pillow()
        pixels = Image.fromarray(np.rint(255 * colors).astype(np.uint8)).convert("RGBA")
        self._ink.paste(pixels, (round(left), round(top)))

    def finish(self) -> np.ndarray:
        """The picture with everything on it, shape [height, width, 3], uint8."""
        Image, _, _ = pillow()
        return np.asarray(Image.alpha_composite(self._picture, self._ink).convert("RGB"))

    def _panel(self, left: float, top: float, right: float, bottom: float) -> None:
        self._draw.rounded_rectangle((left, top, right, bottom), radius=0.5 * self.unit, fill=_PANEL)

    def _swatches(self, swatches: list[tuple[str, tuple[int, int, int]]], left: float, top: float) -> None:
        u = self.unit
        for i, (label, color) in enumerate(swatches):
            y = top + 1.5 * u * i
            self._draw.rounded_rectangle((left, y, left + u, y + u), radius=0.25 * u, fill=(*color, 255))
            self._draw.text((left + 1.7 * u, y + 0.5 * u), printable(label), font=self._font, fill=_INK, anchor="lm")

    def _bar(self, scale: Scale, left: float, top: float, width: float, height: float) -> None:
        rows = color_table(scale.color_map, max(2, round(height)))[::-1]
        column = np.repeat(rows[:, None], max(1, round(width)), axis=1)
        self._paste(column, left, top)
        low, high = scale.limits
        for value, text in ticks(scale):
            y = round(top) + (1.0 - (value - low) / (high - low)) * (len(rows) - 1)
            x = round(left) + column.shape[1]
            self._draw.line((x, y, x + 0.25 * self.unit, y), fill=_INK, width=1)
            self._draw.text((x + 0.6 * self.unit, y), text, font=self._font, fill=_INK, anchor="lm")


def text_size(size: tuple[int, int]) -> int:
    """Height of letters on a picture of this width and height [pixels]."""
    return max(11, round(min(size[1] / 34, size[0] / 44)))


def footer_height(size: tuple[int, int]) -> int:
    """Height of the band below a grid on a page of this width and height [pixels]."""
    return round(2.2 * text_size(size))


def printable(text: str) -> str:
    """The text in characters that the built-in font has."""
    spelled = "".join(_ASCII.get(letter, letter) for letter in text)
    return spelled.encode("ascii", "replace").decode()


def exponent(scale: Scale) -> int:
    """Power of ten, a multiple of three, that is taken out of the numbers of a legend."""
    reach = max(abs(limit) for limit in scale.limits)
    power = int(3 * np.floor(np.log10(reach) / 3)) if reach > 0.0 else 0
    return 0 if 1e-2 <= reach < 1e4 else power


def legend_title(scale: Scale) -> str:
    """Name and unit of what the colours show, such as "stress [1e6 Pa]"."""
    power = 0 if scale.labels else exponent(scale)
    unit = " ".join(word for word in (f"1e{power}" if power else "", scale.unit) if word)
    name = scale.name.replace("_", " ").replace("-", " ")
    return f"{name} [{unit}]" if unit else name


def ticks(scale: Scale) -> list[tuple[float, str]]:
    """Round values inside the limits and how they are written; the limits themselves if none is round."""
    low, high = scale.limits
    rough = (high - low) / 4.0
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * min((1.0, 2.0, 2.5, 5.0, 10.0), key=lambda s: abs(np.log(s * power / rough)))
    values = np.arange(np.ceil(low / step - 1e-6), np.floor(high / step + 1e-6) + 1.0) * step
    if len(values) < 2:
        values = np.array([low, high])
    factor = 10.0 ** -exponent(scale)
    digits = next((d for d in range(6) if np.allclose(values * factor * 10**d, np.rint(values * factor * 10**d))), 6)
    return [(float(value), f"{value * factor + 0.0:.{digits}f}") for value in values]


def _bytes(colors: np.ndarray) -> list[tuple[int, int, int]]:
    return [(int(r), int(g), int(b)) for r, g, b in np.rint(255.0 * colors)]
