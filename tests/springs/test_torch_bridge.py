"""Rollouts in PyTorch: gradients through networks, shared memory, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import Rollout, TorchLoss, TorchRollout, Travel, springs
from annelid.core.errors import InvalidValue, UnknownName

from .crawlers import crawling

torch = pytest.importorskip("torch")


def travel(positions: Any, velocities: Any) -> Any:
    return -(positions[-1, ..., 0] - positions[0, ..., 0]).mean(dim=1)


def numbers(values: Any, device: str, **options: Any) -> Any:
    return torch.tensor(values, dtype=torch.float64, device=device, **options)


def test_gradcheck_through_a_network(device: str) -> None:
    """In two worlds: through the physics, what is seen of it, and the network that sees it."""
    simulation = crawling(device=device, worlds=2)
    simulation.sensors.add("eye", springs.position_of([0]))
    simulation.sensors.add("speed", springs.velocity_of([5, 6]))
    motion = TorchRollout(Rollout(simulation, 10))

    def steered(factor: Any, first: Any, second: Any) -> tuple[Any, Any]:
        def policy(time: float, positions: Any, velocities: Any) -> Any:
            seen = torch.cat([*simulation.sensors.at(positions, velocities), torch.full_like(positions[:, 0], time)], 1)
            return 1.0 + 0.15 * torch.tanh(torch.tanh(seen @ first) @ second)

        positions, velocities = motion.steer(policy, 4, stiffness_factor=factor)
        return (positions**2).sum(), 0.1 * velocities.sum()

    torch.manual_seed(0)
    first, second = (torch.randn(*shape, dtype=torch.float64) for shape in ((9, 3), (3, 1)))
    inputs = (numbers([[1.0], [1.1]], "cpu"), first, second)
    given = tuple(one.to(device).requires_grad_() for one in inputs)
    assert torch.autograd.gradcheck(steered, given, eps=1e-6, atol=1e-6, rtol=1e-4)


def test_it_is_the_gradient_of_the_rollout(device: str) -> None:
    rollout = Rollout(crawling(device=device), 40, looks=20)
    motion = TorchRollout(rollout)
    factor, table = numbers(1.0, device, requires_grad=True), numbers(np.ones((4, 1)), device, requires_grad=True)
    seen = motion(stiffness_factor=factor, controls=table, velocity_damping=5.0)
    motion(stiffness_factor=1.1)  # another motion in between: the first is run again
    loss = travel(*seen).sum()
    loss.backward()
    value, rates = rollout.gradient(
        Travel("x"), {"stiffness_factor": 1.0, "controls": np.ones((4, 1)), "velocity_damping": 5.0}
    )
    assert loss.item() == pytest.approx(value[0], rel=1e-12)
    assert factor.grad.item() == rates["stiffness_factor"]
    assert np.array_equal(table.grad.cpu().numpy(), rates["controls"])


def test_a_loss_in_torch(device: str) -> None:
    rollout, given = Rollout(crawling(device=device), 40, looks=20), {"stiffness_factor": 1.0, "velocity_damping": 5.0}
    value, rates = rollout.gradient(TorchLoss(travel), given)
    expected, by_hand = rollout.gradient(Travel("x"), given)
    assert value == pytest.approx(expected, rel=1e-12)
    assert rates["stiffness_factor"] == pytest.approx(by_hand["stiffness_factor"], rel=1e-12)


def test_tracks_are_not_copied(device: str) -> None:
    rollout = Rollout(crawling(device=device), 10)
    positions, velocities = TorchRollout(rollout)(stiffness_factor=1.0)
    track = rollout._track
    assert track is not None
    assert positions.data_ptr() == track.arrays["positions"].ptr
    assert velocities.data_ptr() == track.arrays["velocities"].ptr
    assert positions.shape == (1, 1, 72, 3)


def test_bad_input() -> None:
    rollout = Rollout(crawling(device="cpu"), 10)
    motion = TorchRollout(rollout)
    one = numbers(1.0, "cpu", requires_grad=True)
    bare = TorchRollout(Rollout(springs.simulation(springs.block((2, 2, 2)), device="cpu"), 5))
    unseen = TorchRollout(Rollout(crawling(device="cpu"), 10, looks=[5]))

    def said(*shape: int) -> Callable[..., Any]:
        return lambda time, positions, velocities: torch.ones(*shape, dtype=torch.float64)

    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: motion(stiffness_factor=torch.tensor(1)), "tensor of torch.int64: give one of torch.float32 or"),
        (lambda: motion(stiffness_factor=one.to("meta")), "'stiffness_factor' is on meta, and the rollout .* on cpu"),
        (lambda: motion(masses=torch.ones(5)), r"shape \[5\].*\[1 world, 72 masses\]"),
        (lambda: motion(stifness=one), "Did you mean 'stiffness'"),
        (lambda: bare(friction=one), "parameter 'friction' feeds nothing here: "),
        (lambda: motion.steer(said(2, 1), 2), r"commands of shape \[1, 1\], worlds and controls, not \[2, 1\]"),
        (lambda: motion.steer(said(1, 1), 0), "1 or more, not 0"),
        (lambda: motion.steer(said(1, 1), 2, controls=one), "leave controls out"),
        (lambda: bare.steer(said(1, 1), 2), "parameter 'controls' feeds nothing here: "),
        (lambda: unseen.steer(said(1, 1), 2), "last look .* must be its last step, 10, not 5"),
        (lambda: (motion(stiffness_factor=one)[0].sum() * torch.inf).backward(), "rates of the loss by .* not finite"),
        (lambda: rollout.gradient(TorchLoss(lambda x, v: one), {"masses": 0.1}), "depends on nothing"),
        (lambda: rollout.gradient(TorchLoss(lambda x, v: 1.0), {"masses": 0.1}), "must return a tensor, not float"),
        (lambda: rollout.gradient(TorchLoss(lambda x, v: x.sum() / 0), {"masses": 0.1}), "the loss is -?inf"),
        (lambda: TorchLoss(3), "a function of positions and velocities, not of 3"),
        (lambda: TorchRollout(3), "must be a Rollout"),
    ]
    for call, sentence in cases:
        with pytest.raises((InvalidValue, UnknownName), match=sentence):
            call()
