"""How materials are found by name, and what is suggested where a name is not one of them."""

from __future__ import annotations

import difflib
import re
from functools import cache

import numpy as np

from annelid.core.errors import InvalidValue, UnknownName
from annelid.materials.material import Material
from annelid.materials.presets import PRESETS
from annelid.materials.silicones import DEFAULT_LAW, SILICONES, LawName, Silicone

_SMOOTH_ON = ("ecoflex", "dragon-skin", "mold-star", "rebound", "body-double", "psycho-paint", "sorta-clear")
_KINDS = {
    "silicone": ("pdms", "silicone-marchal", *(silicone.name for silicone in SILICONES)),
    "rubber": ("pdms", "silicone-marchal", "tpu", *(silicone.name for silicone in SILICONES)),
    "smooth-on": _SMOOTH_ON,
    "sylgard-184": ("pdms",),
    "plastic": ("nylon", "pla", "tpu"),
    "metal": ("steel",),
}
"""Words for kinds of material, and how the names of their members begin."""
_SAME = {"silicon": "silicone", "siliconerubber": "silicone", "elastomer": "rubber", "sylgard": "sylgard-184"}
_MOST = 8
"""Names that a suggestion may hold."""


def material(name: str | Material) -> Material:
    """The material of that name; upper case, spaces, hyphens and underscores do not matter.

    Silicones for large strains have the law in their name: "dragon-skin-10/ogden", "dragon-skin-10/yeoh". Without a law
    "dragon-skin-10" is the one of Ogden, unless a preset for small strains has that name, as "ecoflex-00-30" has.
    A Material is handed back as it is, so that functions can take either.
    """
    if isinstance(name, Material):
        return name
    if not isinstance(name, str):
        raise InvalidValue(f"a material is named by a string such as 'ecoflex-00-30', not by {name!r}.")
    preset = _presets().get(_key(name))
    if preset is not None:
        return preset
    silicone, law = _silicones().get(_key(name), (None, DEFAULT_LAW))
    if silicone is None:
        hint = _hint(name)
        raise UnknownName("material", name, names() if hint is None else (), hint=hint)
    return silicone.material(law)


def names() -> tuple[str, ...]:
    """Names of all materials, sorted; silicones for large strains with the default one of their laws."""
    return tuple(sorted([*(preset.name for preset in PRESETS), *(f"{s.name}/{DEFAULT_LAW}" for s in SILICONES)]))


def matching(word: str) -> tuple[Material, ...]:
    """Materials of this name, of this family or kind, or whose names contain it; silicones with all their laws."""
    if not isinstance(word, str) or "/" in word:
        return (material(word),)
    silicone, _ = _silicones().get(_key(word), (None, ""))
    found = [silicone.name] if silicone is not None else [_base(each) for each in _family(word)]
    if not found:
        return (material(word),)  # which tells what is near
    presets = [preset for preset in PRESETS if preset.name in found]
    return (*presets, *(each.material(law) for each in SILICONES if each.name in found for law in each.laws))


def _hint(name: str) -> str | None:
    """What could have been meant, in a sentence."""
    silicone, _ = _silicones().get(_key(_base(name)), (None, ""))
    if "/" in name and silicone is not None:
        return f"{silicone.name!r} comes as {_listed([f'{silicone.name}/{law}' for law in silicone.laws])}."
    found = sorted(_family(name), key=lambda each: material(each).youngs_modulus)
    if not found:
        return None
    some = [found[i] for i in np.linspace(0, len(found) - 1, min(len(found), _MOST)).round().astype(int)]
    if len(some) == 1:
        return f"Did you mean {some[0]!r}?"
    return f"Of that kind, from soft to stiff: {_listed(some)}; `annelid materials` lists all."


def _family(word: str) -> list[str]:
    """Names of the materials that a word for several of them means, or of the one of this name."""
    key = _key(_SAME.get(_key(word), word))
    exact = [each for each in names() if key == _key(_base(each))]
    near = [key] if key in _families() else difflib.get_close_matches(key, _families(), n=1, cutoff=0.85)
    if near and not exact:
        begins = _families()[near[0]]
        return [each for each in names() if each.startswith(begins)]
    return exact or [each for each in names() if len(key) > 2 and key in _key(_base(each))]


def _base(name: str) -> str:
    """The name of a material without that of its law."""
    return name.partition("/")[0]


def _listed(found: list[str]) -> str:
    return ", ".join(map(repr, found))


def _key(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


@cache
def _families() -> dict[str, tuple[str, ...]]:
    """How the names of a family begin, by the key of the word for it."""
    return {_key(kind): begins for kind, begins in {**_KINDS, **{each: (each,) for each in _SMOOTH_ON}}.items()}


@cache
def _presets() -> dict[str, Material]:
    return {_key(preset.name): preset for preset in PRESETS}


@cache
def _silicones() -> dict[str, tuple[Silicone, LawName]]:
    """Silicones and laws by the keys of all the names that they may be called by."""
    found: dict[str, tuple[Silicone, LawName]] = {}
    for silicone in SILICONES:
        for called in (silicone.name, silicone.title):
            found[_key(called)] = silicone, DEFAULT_LAW
            found |= {_key(f"{called}/{law}"): (silicone, law) for law in silicone.laws}
    return found
