"""How a training reports its progress."""

from __future__ import annotations

from collections.abc import Callable

Watch = Callable[[int, int, float, float], None]
"""Called now and then with actions taken, actions in all, mean of the last returns, and actions a second."""
