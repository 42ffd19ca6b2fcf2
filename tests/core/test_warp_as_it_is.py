"""Warp stays as its makers ship it: nothing of it is changed, and kernels of others compile to what they were."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import warp as wp

from annelid.core.warp_build import lean_headers

FOREIGN = """
import json, linecache
import warp as wp
SOURCE = '''
import warp as wp

@wp.struct
class Pair:
    one: wp.array[wp.float32]
    two: wp.array[wp.float32]

@wp.func
def larger(pair: Pair, i: int) -> wp.float32:
    return wp.max(pair.one[i], pair.two[i])

@wp.kernel
def write(pair: Pair, out: wp.array[wp.float32]):
    out[wp.tid()] = larger(pair, wp.tid())
'''
linecache.cache["/foreign.py"] = (len(SOURCE), None, SOURCE.splitlines(True), "/foreign.py")

def foreign():
    names = {"__name__": "foreign"}
    exec(compile(SOURCE, "/foreign.py", "exec"), names)
    return names

def launch_foreign():
    made = foreign()
    pair = made["Pair"]()
    pair.one, pair.two = wp.ones(2, device="cpu"), wp.zeros(2, device="cpu")
    wp.launch(made["write"], 2, [pair], [wp.zeros(2, device="cpu")], device="cpu")
"""

COMPARED = """
import sys

def attributes():
    found = {}
    for name, module in list(sys.modules.items()):
        if name == "warp" or name.startswith("warp."):
            for key, value in list(vars(module).items()):
                found[f"{name}.{key}"] = value
                if isinstance(value, type) and value.__module__.startswith("warp"):
                    found |= {f"{name}.{key}.{inner}": each for inner, each in vars(value).items()}
    return found

def changed(before):
    after = attributes()
    return sorted(name for name in before if name not in after or after[name] is not before[name])

wp.init()
launch_foreign()
before = attributes()
wp.zeros(1, device="cpu")
launch_foreign()
by_itself = set(changed(before))
watched = [{name: value for name, value in attributes().items() if name not in by_itself}]
"""
"""What Warp changes when it compiles and launches a kernel is its own affair."""

STEPPED = """
import json
import annelid
from annelid import springs
from annelid.shapes import ground
import annelid.core.device, annelid.core.kernels
imported = list(map(changed, watched))
body, below = springs.block((2, 2, 2), 0.1), ground(height=-1.0)
simulation = springs.simulation(body, dt=1e-4, obstacles=[below], device="cpu", threads=1)
simulation.step(3)
stepped = list(map(changed, watched))
"""

UNWATCHED = "import warp as wp; changed, watched = None, []\n"


def ran(text: str, **environment: str) -> Any:
    """What a script prints last, as JSON, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=300.0, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_nothing_of_warp_is_changed_by_an_import_or_a_simulation() -> None:
    imported, stepped = ran(FOREIGN + COMPARED + STEPPED + "print(json.dumps([*imported, *stepped]))")
    assert imported == ["warp.config.log_level"], "which `wp.config` is there for"
    assert stepped == imported


def test_the_comparison_sees() -> None:
    change = "wp._src.context.Module.load = len; wp._src.build.build_cpu = len; wp.launch = len\n"
    found = ran(FOREIGN + COMPARED + change + "print(json.dumps(changed(*watched)))")
    assert {"warp._src.build.build_cpu", "warp._src.context.Module.load", "warp.launch"} <= set(found)


def test_kernels_of_others_are_what_they_are_without_this_package() -> None:
    told = """
module = foreign()["write"].module
given = module.resolve_options(wp.config, block_dim=1) | {"output_arch": None}
options = dict(given)
print(json.dumps([module.get_module_hash(1).hex(), module._run_codegen(options, True)[0], options == given]))
"""
    alone, beside = ran(FOREIGN + "wp.init()\n" + told), ran(FOREIGN + UNWATCHED + STEPPED + told)
    assert alone == beside
    assert alone[2]  # nothing is added to the options with which it is compiled


def test_all_that_is_changed_for_own_kernels_can_be_switched_off() -> None:
    told = "print(sum('_run_codegen' in vars(module) for module in wp._src.context.user_modules.values()))"
    assert ran(UNWATCHED + STEPPED + told, ANNELID_PLAIN_WARP="1") == 0
    if wp.__version__ in lean_headers.TESTED:
        assert ran(UNWATCHED + STEPPED + told, ANNELID_PLAIN_WARP="0") > 0


HASHES = """
import json
import numpy as np
from annelid import grains, springs, voxels3d
from annelid.shapes import ground
here = {"obstacles": [ground(0.5)], "device": "cpu", "threads": 1}
places = [[x, y, 0.04] for x in (-0.2, 0.2) for y in (-0.1, 0.0, 0.1)]
every = [
    springs.simulation(springs.block((3, 2, 2), 0.1), dt=1e-4, **here),
    grains.simulation(grains.Bed(places, 0.03), dt=1e-3, **here),
    voxels3d.simulation(voxels3d.Robot(np.zeros((2, 1, 1), int)), **here),
]
for simulation in every:
    simulation.step(50)
print(json.dumps([simulation.state_hash() for simulation in every]))
"""


def test_simulations_come_out_the_same_without_it(tmp_path: Path) -> None:
    plain = ran(HASHES, ANNELID_PLAIN_WARP="1", WARP_CACHE_PATH=str(tmp_path))
    assert plain == ran(HASHES, ANNELID_PLAIN_WARP="0")


def test_without_it_tests_pass(tmp_path: Path) -> None:
    """With kernels that are compiled anew, since both ways find the same ones in the cache."""
    folder = Path(__file__).parent
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            folder / "test_launch.py",
            folder / "test_relay.py",
        ],
        capture_output=True,
        text=True,
        timeout=300.0,
        env={**os.environ, "ANNELID_PLAIN_WARP": "1", "WARP_CACHE_PATH": str(tmp_path)},
    )
    assert done.returncode == 0, done.stdout
