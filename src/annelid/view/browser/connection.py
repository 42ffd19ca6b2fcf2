"""A WebSocket connection whose messages go through an inbox; apart, because it needs the package `websockets`."""

from __future__ import annotations

from typing import Any

from websockets.asyncio.server import ServerConnection

from annelid.view.browser.inbox import Inbox


def checked_by(inbox: Inbox) -> type[ServerConnection]:
    """The class of connections whose messages an inbox checks."""

    class Checked(ServerConnection):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self._uploads: dict[str, int] = {}

        async def recv(self, decode: bool | None = None) -> Any:
            while True:
                message = await super().recv(decode)
                if isinstance(message, bytes | str) and inbox.admits(message, self._uploads):
                    return message

    return Checked
