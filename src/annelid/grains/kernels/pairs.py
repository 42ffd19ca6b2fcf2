"""Contacts of one grain with its neighbours: impulses are improved once, and summed.

`pair_frame` has the sweep over its list, and `pair_laws` what happens at a contact; here the text of a sweep is put
together from both.
"""

from dataclasses import replace

import warp as wp

from annelid.core.kernels.loading import once
from annelid.grains.kernels import pair_frame as frame
from annelid.grains.kernels import pair_laws as laws
from annelid.grains.kernels.layout import (
    ALL,
    FINEST_IMPACT,
    IMPACT,
    INTERIOR,
    MARGIN,
    NEAR_BOUNDARY,
    REACHES,
    ROLLING_SHARE,
    UNKNOWN,
    WORLD_REACHES,
    Features,
    Grains,
    Lists,
    Parameters,
    contact_horizon,
)
from annelid.grains.kernels.rows import FORGET, PLACES
from annelid.grains.kernels.sums import ContactSum, from_rows

wp.set_module_options({"enable_backward": False})


def _residual(features: Features) -> str:
    """Part of the text that says how far a step is from being solved: see `Features.judged_by_bodies`."""
    if not features.judged_by_bodies:
        return laws.RESIDUAL
    return laws.BODIES_RESIDUAL if features.guests else ""


def _converging_parts(features: Features, *, blended: bool) -> dict[str, str]:
    """Parts of the text where steps converge: plain sweeps begin them, and blended ones go on."""
    parts = {"BLEND": laws.BLEND if blended else ""}
    parts["FINAL"] = "false" if blended else "final == 1"
    parts["DEPTH"] = "0.1f * MIN(gap + 0.1f * parameters.smallest, 0.0f) * rate"
    if features.converging:
        parts["DEPTH"] = "parameters.deep * MIN(gap + 0.1f * parameters.smallest, 0.0f)"
        parts["OWN"] = f"const Number own_contacts = mine[3] > 0.0f ? mine[3] : {UNKNOWN}f;"
        parts["COUNTS"] = f"nj = nj > 0.0f ? nj : {UNKNOWN}f + zero;"
        parts["RESIDUAL"] = _residual(features)
    if blended:
        parts["PARTING"] = "zero"
        parts["OWN"] += " const Number blend = lists.weights.data[final]; const bool fresh = final == 0;"
    return parts


def _surfaces(features: Features) -> str:
    """Part of the text that says how a pair responds."""
    if features.materials:
        return laws.OWN_SURFACE
    return laws.TWO_SURFACES if features.guests else laws.SAME_SURFACE


def _varied_parts(features: Features, world: str) -> dict[str, str]:
    """Parts of the text where worlds differ in parameters: factors on what contacts have, and masses of a world."""
    if not features.varied:
        return {"VARIED": "", "SCALED": "", "LIGHTEST": "parameters.lightest"}
    same = {} if features.sizes else {"SIZES": laws.VARIED_SIZES}
    same |= {} if features.materials else {"SURFACES": _surfaces(features).replace("const F", "F")}
    return {
        **same,
        "VARIED": f"const auto& varied = parameters.varied.data[{world}];"
        + (laws.VARIED_GUESTS if features.guests else ""),
        "SCALED": laws.SCALED_GUESTS if features.guests else laws.SCALED,
        "LIGHTEST": "(parameters.lightest * varied.lightness)",
    }


def _bodies_ahead(features: Features) -> str:
    """Part of the text that asks for what contacts with bodies need after those with neighbours (CPU)."""
    if not features.kinds:
        return ""
    names = ["bodies", "body_predicted", *(["body_rollings"] if features.rolling else [])]
    asked = " ".join(f"__builtin_prefetch(lists.{name}.data + (size_t)i * lists.body_places);" for name in names)
    return f"if (((const int*)lists.counts.data)[2 * i + 1] > 0) {{ {asked} }}"


def _text(features: Features, *, blended: bool, rows: int) -> str:
    """The text of a sweep over the neighbours of grain i."""
    judged = features.judged_by_bodies
    if rows == INTERIOR:  # with the same arithmetic, but for what concerns guests
        features = replace(features, guests=False)
    wrap = "".join(
        f"{{ const Number period = parameters.period[{number}], half = 0.5f * period; "
        f"n{axis} = n{axis} > half ? n{axis} - period : n{axis}; "
        f"n{axis} = n{axis} < -half ? n{axis} + period : n{axis}; }}\n"
        for number, axis in enumerate("xyz")
        if features.periodic[number]
    )
    world = "((const int*)grains.names.data)[2 * i + 1]" if features.worlds else "0"
    sizes = laws.OWN_SIZE if features.sizes else laws.SAME_SIZE
    parts = {
        "FORGET": FORGET,
        "SHARED_SUMS": frame.SHARED_SUMS if rows == NEAR_BOUNDARY else "",
        "START": "WIDTH * lane" if rows == NEAR_BOUNDARY else "0",
        "STRIDE": "WIDTH * lanes" if rows == NEAR_BOUNDARY else "WIDTH",
        "MARGIN": f"{REACHES} + {WORLD_REACHES} * {world} + {MARGIN}",
        "WRAP": wrap,
        **sizes,
        "SURFACES": _surfaces(features),
        **(laws.BOUNCING if features.bouncing else laws.NOT_BOUNCING),
        "FACET": laws.FACET if features.guests else "",
        "FACETS": laws.FACETS if features.guests else "",
        "ASIDE": laws.ASIDE if features.guests else "",
        "COUPLE": laws.COUPLE if features.guests else "",
        "DEEP": laws.DEEP if features.guests else "",
        "COHESION": laws.COHESION if features.cohesive else "",
        "ROLLING": laws.ROLLING if features.rolling else "",
        **(laws.BESIDE_GUESTS if features.guests else laws.AMONG_GRAINS),
        "RESIDUAL": laws.RESIDUAL if features.tolerant else "",
        **_varied_parts(features, world),
        **_converging_parts(features, blended=blended),
    }
    if judged and not features.guests:
        parts["RESIDUAL"] = ""
    parts |= {
        "MOVED": laws.MOVED_BY_GUESTS if features.guests else "together",
        "AHEAD": f"{contact_horizon(features.bouncing)}f",
        "IMPACT": f"{float(IMPACT)}f",
        "SHARE": f"{1.0 / IMPACT!r}f",
    }
    parts["FINEST"] = f"{FINEST_IMPACT!r}f"
    parts["ROLLING_SHARE"] = f"{ROLLING_SHARE!r}f"
    kept = ["impulses", *(["rollings"] if features.rolling else [])]
    parts["SKIPPED"] = frame.SKIPPED.replace("@KEPT@", " ".join(f"NOTHING({name})" for name in kept))
    parts["EARLIER"] = frame.EARLIER if blended else ""
    kept += ["earlier"] if blended else []
    parts["AHEAD_OF_TIME"] = " ".join(f"FETCH({name})" for name in kept) + _bodies_ahead(features)
    parts |= {part: " ".join(f"{verb}({name})" for name in kept) for part, verb in frame.HELD}
    text = PLACES + frame.TYPES + frame.BEGIN + laws.NONSMOOTH + frame.END
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part)
    return text


@once
def pair_impulses(features: Features, *, blended: bool = False, rows: int = ALL) -> wp.Function:
    """A function `(i, lane, lanes, final, parameters, grains, lists) -> ContactSum`: sums over neighbours of grain i.

    What the next step is expected to bring matters in the final sweep of a step alone. Of blended sweeps none is
    final, and that number says which one it is. `rows` says which rows it is asked for.
    """

    @wp.func_native(_text(features, blended=blended, rows=rows))
    def rows_of_sums(
        i: int, lane: int, lanes: int, final: int, parameters: Parameters, grains: Grains, lists: Lists
    ) -> wp.mat44: ...

    @wp.func
    def pairs(
        i: int, lane: int, lanes: int, final: int, parameters: Parameters, grains: Grains, lists: Lists
    ) -> ContactSum:
        return from_rows(rows_of_sums(i, lane, lanes, final, parameters, grains, lists))

    return pairs
