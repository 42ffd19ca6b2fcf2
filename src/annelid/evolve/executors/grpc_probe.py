"""Whether a gRPC server listens at an address: one empty call by hand, answered in a moment or not at all."""

from __future__ import annotations

import socket
import time

_HEADERS, _SETTINGS = 1, 4
_END = 0x5  # end of the stream and of its headers
_OK = 0x88  # ":status 200" in the static table of HPACK, with which every answer of a gRPC server begins
_PADDED, _PRIORITY = 0x8, 0x20


def require_grpc(host: str, port: int, *, seconds: float) -> None:
    """Raise OSError unless a gRPC server answers in time.

    gRPC is HTTP/2, in which both sides begin with their settings; a gRPC server answers even a call that it does not
    know with status 200, other servers and proxies with an error of their own.

    Args:
        host: Name or number of the machine.
        port: Port.
        seconds: Time for all of it [s].
    """
    deadline = time.monotonic() + seconds
    with socket.create_connection((host, port), timeout=seconds) as line:
        line.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _frame(_SETTINGS) + _frame(_HEADERS, _END, 1, _call(host)))
        first = True
        while True:
            kind, flags, content = _read_frame(line, deadline)
            if first and kind != _SETTINGS:
                raise ConnectionError("what listens there is no Ray")
            first = False
            if kind == _HEADERS:
                content = content[bool(flags & _PADDED) + 5 * bool(flags & _PRIORITY) :]
                if content[:1] != bytes([_OK]):
                    raise ConnectionError("a server or proxy answers there, but it is no Ray")
                return


def _call(host: str) -> bytes:
    """Headers of a call, in HPACK: each name and value written out, without Huffman's code."""
    headers = {
        ":method": "POST", ":scheme": "http", ":path": "/annelid/probe", ":authority": host[:100],
        "content-type": "application/grpc", "te": "trailers",
    }  # fmt: skip
    return b"".join(b"\0" + _text(name) + _text(value) for name, value in headers.items())


def _text(text: str) -> bytes:
    return bytes([len(text)]) + text.encode("ascii", "replace")


def _frame(kind: int, flags: int = 0, stream: int = 0, content: bytes = b"") -> bytes:
    return len(content).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + content


def _read_frame(line: socket.socket, deadline: float) -> tuple[int, int, bytes]:
    """Kind, flags and content of the next frame."""
    head = _read(line, 9, deadline)
    if head[3] > 9:  # no such frame: the length would be nonsense, too
        raise ConnectionError("what listens there is no Ray")
    return head[3], head[4], _read(line, int.from_bytes(head[:3], "big"), deadline)


def _read(line: socket.socket, count: int, deadline: float) -> bytes:
    parts = b""
    while len(parts) < count:
        left = deadline - time.monotonic()
        if left <= 0.0:
            raise TimeoutError("timed out")
        line.settimeout(left)
        more = line.recv(count - len(parts))
        if not more:
            raise ConnectionError("what listens there is no Ray")
        parts += more
    return parts
