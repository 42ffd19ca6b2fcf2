"""Observations and actions in the arrays of other libraries: the same memory, on every device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid import envs
from annelid.core.errors import UnknownName

pytest.importorskip("gymnasium")

NAME = "annelid/VoxelLocomotion-v0"


def jax_on(device: str) -> Any:
    """JAX, where it has a device of this kind."""
    jax = pytest.importorskip("jax")
    try:
        jax.devices("cpu" if wp.get_device(device).is_cpu else "cuda")
    except RuntimeError:
        pytest.skip(f"this build of JAX has no {device}")
    return jax


def test_jax_shares_the_memory_of_observations(task: tuple[str, dict[str, object]], device: str) -> None:
    jax = jax_on(device)
    name, options = task
    many = envs.make_vector_env(name, 2, device=device, output="jax", **options)
    many.reset(seed=0)
    actions = jax.numpy.zeros(many.action_space.shape, jax.numpy.float32, device=wp.device_to_jax(device))
    observation, reward, terminated, truncated, _ = many.step(actions)
    arrays, worlds = many.worlds.observations, many.worlds
    seen = observation if isinstance(observation, dict) else {next(iter(arrays)): observation}
    assert {n: a.unsafe_buffer_pointer() for n, a in seen.items()} == {n: a.ptr for n, a in arrays.items()}
    results = (reward, worlds.rewards), (terminated, worlds.terminated), (truncated, worlds.truncated)
    for found, array in results:
        assert found.unsafe_buffer_pointer() == array.ptr
        np.testing.assert_array_equal(np.asarray(found), array.numpy())


def test_actions_are_not_copied(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    jax, torch = jax_on(device), pytest.importorskip("torch")
    worlds = envs.make_worlds(NAME, 2, device=device)
    worlds.restart(seeds=[0, 1])
    shape = (2, worlds.action_size)
    there = torch.zeros(shape, device=wp.device_to_torch(device))
    given = jax.numpy.zeros(shape, jax.numpy.float32, device=wp.device_to_jax(device))
    own = wp.zeros(shape, dtype=wp.float32, device=device)
    addresses = {there.data_ptr(): there, given.unsafe_buffer_pointer(): given, own.ptr: own}
    for address, actions in addresses.items():
        assert worlds._as_rows(actions).ptr == address


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_last_observations_are_kept(library: str, device: str) -> None:
    if library == "jax":
        jax_on(device)
    else:
        pytest.importorskip("torch")
    many = envs.make_vector_env(NAME, 2, device=device, output=library, autoreset="same-step", seconds=1e-3)
    many.reset(seed=0)
    last = [many.step(np.full(many.action_space.shape, x, np.float32))[-1]["final_obs"] for x in (0.0, 1.0)]
    first, second = (wp.from_dlpack(rows).numpy() for rows in last)
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_worlds_are_reset_by_a_mask_on_the_device(library: str, device: str) -> None:
    if library == "jax":
        jax_on(device)
    else:
        pytest.importorskip("torch")
    many = envs.make_vector_env(NAME, 2, device=device, output=library, autoreset="disabled", seconds=1e-3)
    many.reset(seed=0)
    _, _, terminated, truncated, _ = many.step(np.zeros(many.action_space.shape, np.float32))
    many.reset(options={"reset_mask": terminated | truncated})
    assert many.worlds.steps.numpy().tolist() == [0, 0]


def test_other_numbers_than_float32_are_taken() -> None:
    worlds = envs.make_worlds(NAME, 1, device="cpu")
    worlds.restart(seeds=[0])
    worlds.step(wp.full((1, worlds.action_size), 0.25, dtype=wp.float64, device="cpu"))
    np.testing.assert_array_equal(worlds.actions.numpy(), np.full((1, worlds.action_size), 0.25, np.float32))


def test_unknown_libraries_are_named() -> None:
    with pytest.raises(UnknownName, match="jax"):
        envs.make_vector_env(NAME, device="cpu", output="jaxx")
