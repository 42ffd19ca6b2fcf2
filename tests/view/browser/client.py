"""A client of a page that speaks viser's protocol and says whatever a test wants."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

CAMERA = {
    "type": "ViewerCameraMessage", "wxyz": (1.0, 0.0, 0.0, 0.0), "position": (3.0, 3.0, 3.0), "fov": 1.0, "near": 0.1,
    "far": 100.0, "image_height": 600, "image_width": 900, "look_at": (0.0, 0.0, 0.0), "up_direction": (0.0, 0.0, 1.0),
}  # fmt: skip


class Client:
    """Sends messages; what comes back is read and forgotten."""

    def __init__(self, line: Any) -> None:
        self._line = line
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, message: Any) -> None:
        """Send a message: a dictionary, or bytes or a text as they are."""
        import msgspec

        self._line.send(message if isinstance(message, bytes | str) else msgspec.msgpack.encode(message))

    def set(self, control: Any, value: Any) -> None:
        """Give a control a value, as its widget would."""
        self.send({"type": "GuiUpdateMessage", "uuid": control._impl.uuid, "updates": {"value": value}})

    def upload(self, button: Any, name: str, content: bytes) -> None:
        """Upload a file in one part."""
        ids = {"source_component_uuid": button._impl.uuid, "transfer_uuid": f"{name[:20]}-{len(content)}"}
        about = {"filename": name, "mime_type": "", "part_count": 1, "size_bytes": len(content)}
        self.send({"type": "FileTransferStartUpload", **ids, **about})
        self.send({"type": "FileTransferPart", **ids, "part_index": 0, "content": content})

    def _read(self) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            while True:
                self._line.recv()
        except (ConnectionClosed, EOFError, OSError):
            pass


@contextmanager
def connected(url: str) -> Iterator[Client]:
    """A client of a page that has told where its camera is, after which viser takes it for a browser."""
    import viser
    from websockets.sync.client import connect

    address = url.replace("http", "ws")
    with connect(address, subprotocols=[f"viser-v{viser.__version__}"], max_size=None, close_timeout=2.0) as line:  # type: ignore[list-item]
        client = Client(line)
        client.send(CAMERA)
        yield client
