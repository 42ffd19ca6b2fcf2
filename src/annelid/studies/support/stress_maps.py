"""Maps of the stress on plates over tilt and direction: ours beside the published one, and coefficients of ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from annelid.shapes import Medium
from annelid.shapes.resistive.law import plane_stress, plane_terms, space_stress
from annelid.shapes.resistive.media import MEDIA


@dataclass(frozen=True, eq=False)
class StressMap:
    """Stresses per depth of plates in one bed.

    Attributes:
        angles: Tilt beta and direction gamma of each plate [rad], shape [n, 2].
        stresses: Against the motion and upwards [N/m³], shape [n, 2].
    """

    angles: np.ndarray
    stresses: np.ndarray

    @property
    def published(self) -> np.ndarray:
        """What the generic coefficients of Li, Zhang and Goldman say for these plates [N/m³], shape [n, 2]."""
        generic = np.array(MEDIA["generic"].coefficients)
        return np.stack(plane_stress(generic, *self.angles.T), axis=1)

    @property
    def in_space(self) -> np.ndarray:
        """What the law in space says for a resistance of 1 N/m³, shape [n, 2]."""
        return self._in_space((1.0, 1.0, 1.0))

    def _in_space(self, parts: tuple[float, float, float]) -> np.ndarray:
        forward, _, up = space_stress(self.angles[:, 0], 0.0, self.angles[:, 1], parts)
        return np.stack([-forward, up], axis=1)

    def at(self, beta: float, gamma: float) -> np.ndarray | None:
        """Stress of the plate with these angles [°]; None where there is none."""
        here = np.abs(np.degrees(self.angles) - [beta, gamma]).max(axis=1) < 0.5
        return self.stresses[np.flatnonzero(here)[0]] if here.any() else None

    def scale(self, other: np.ndarray) -> float:
        """The factor on another map with which it is closest to this one."""
        return float((self.stresses * other).sum() / (other**2).sum())

    def smoothed(self) -> StressMap:
        """The map by the nine terms that fit it best: published maps are such fits, not single plates."""
        medium, _ = self.fitted("smoothed", 1.0)
        stresses = np.stack(plane_stress(np.array(medium.coefficients), *self.angles.T), axis=1)
        return StressMap(self.angles, stresses)

    def correlations(self, other: np.ndarray) -> tuple[float, float]:
        """How alike two maps are, against the motion and upwards, whatever their scale."""
        against, up = (float(np.corrcoef(self.stresses[:, c], other[:, c])[0, 1]) for c in (0, 1))
        return against, up

    def fitted(self, name: str, density: float) -> tuple[Medium, float]:
        """The medium whose laws are closest, and what its nine coefficients leave, of the size of the map.

        Nine coefficients need plates of five directions at least that differ; of fewer the smallest ones are taken.
        """
        against, up = plane_terms(*self.angles.T)
        terms, values = np.concatenate([against, up]), np.concatenate([self.stresses[:, 0], self.stresses[:, 1]])
        coefficients = np.linalg.lstsq(terms, values, rcond=1e-9)[0]
        left = float(np.linalg.norm(terms @ coefficients - values) / np.linalg.norm(values))
        # The law in space is the sum of three terms, and our grains need not share the proportions of its authors'.
        single = np.stack([self._in_space(one).ravel() for one in ((1, 0, 0), (0, 1, 0), (0, 0, 1))], axis=1)
        resistance = self.scale(self.in_space)
        first, second, third = (np.linalg.lstsq(single, self.stresses.ravel(), rcond=1e-9)[0] / resistance).tolist()
        medium = Medium(
            name=name,
            coefficients=tuple(coefficients.tolist()),
            resistance=resistance,
            parts=(first, second, third),
            density=density,
            source=f"fitted to {len(self.angles)} plates in grains (annelid study sand-rft)",
        )
        return medium, left


def draw_maps(axes: Any, found: StressMap) -> None:
    """Both components, ours above and the published map below, on one scale a component.

    Args:
        axes: Axes of matplotlib, shape [2, 2].
        found: Our map; the other is multiplied by the scale at which it is closest to ours.
    """
    theirs = found.scale(found.published) * found.published
    titles = ("against the motion", "upwards")
    for column in (0, 1):
        largest = float(max(np.abs(found.stresses[:, column]).max(), np.abs(theirs[:, column]).max())) / 1e6
        for row, (values, whose) in enumerate(((found.stresses, "grains"), (theirs, "Li, Zhang, Goldman, scaled"))):
            axis = axes[row, column]
            beta, gamma = np.degrees(found.angles).T
            drawn = axis.scatter(
                gamma, beta, c=values[:, column] / 1e6, cmap="RdBu_r", vmin=-largest, vmax=largest, marker="s", s=120
            )
            axis.figure.colorbar(drawn, ax=axis, label="N/cm³")
            axis.set(xlabel="direction γ [°]", ylabel="tilt β [°]", title=f"{whose}: {titles[column]}")
