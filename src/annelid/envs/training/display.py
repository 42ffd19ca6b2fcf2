"""The display of a training while it runs."""

from __future__ import annotations

from rich.console import Console

from annelid.core.display import Bar, Display


class TrainingDisplay(Display):
    """Shows how a training goes.

    Args:
        title: What is being trained.
        quiet: Show nothing.
        console: Where to write; standard error by default, so that results on standard output stay clean.
    """

    def __init__(self, title: str, *, quiet: bool = False, console: Console | None = None) -> None:
        self._bar, self._reached = Bar(title), False
        super().__init__(title, quiet=quiet, console=console, patience=10.0, picture=self._bar)

    def __call__(self, steps: int, goal: int, mean: float, rate: float) -> None:
        """Show actions taken, actions in all, mean of the last returns, and actions a second."""
        status = f"{steps:,}/{goal:,} actions, {rate:.0f}/s, return {mean:.4g} (last 100 episodes)"
        reached = steps >= goal  # PPO goes on to the end of its rollout: that is told once, and then now and then
        self.show(self._bar.at(steps, goal, status), status, now=reached and not self._reached)
        self._reached = reached
