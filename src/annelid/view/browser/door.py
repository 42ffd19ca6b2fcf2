"""Who may open the page: whoever names the address served, comes from no other page, and has the token if one is asked.

A browser lets any page of the web open a WebSocket to this machine, and a name that its owner points here (DNS
rebinding) makes the two look alike. Both show in what the browser says of itself: the `Host` that it believes to talk
to and the `Origin` of the page that talks. A client without an `Origin` is not a browser, which never leaves it out of
an upgrade; it is let in, since a program on this machine could claim any.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from annelid.core.errors import InvalidValue

_ADDRESS = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(?P<port>\d{1,5}))?", re.IGNORECASE)
_DEFAULT_PORTS = {"http": 80, "https": 443}
ANY_ADDRESS = ("", "0.0.0.0", "::")
"""What a server listens on that is reached at every address of its machine."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")

Place = tuple[str, int]
"""A name or address, and a port."""


@dataclass(frozen=True)
class Request:
    """What a browser or another program asks for.

    Attributes:
        path: Path and query.
        hosts: All `Host` headers.
        origins: All `Origin` headers.
        served_at: Address and port of this machine at which it arrived.
    """

    path: str
    hosts: Sequence[str]
    origins: Sequence[str]
    served_at: Place


class Door:
    """Lets requests in or says why not.

    Args:
        host: Address that the server listens on.
        allow_hosts: Names under which the page is published, `NAME` or `NAME:PORT`; without a port, that of the server
            and those of http and https.

    Attributes:
        token: First part of the path that must be known; empty if only this machine can reach the server.
    """

    def __init__(self, host: str, allow_hosts: Iterable[str] = ()) -> None:
        self._published = [_published(name) for name in allow_hosts]
        self._names = {_plain(host), *_LOOPBACK}
        self.token = ""
        if not is_loopback(host):
            self._names.add(_plain(socket.gethostname()))
            self.token = secrets.token_urlsafe(16)

    def refusal(self, request: Request) -> str | None:
        """Why a request is refused, in a sentence; None if it may come in."""
        host = _place(request.hosts[0], 80) if len(request.hosts) == 1 else None
        if host is None or not self._is_ours(host, request.served_at):
            return _not_served("Host", request.hosts)
        if request.origins and not self._is_own_page(request.origins, request.served_at):
            return _not_served("Origin", request.origins)
        if self.token and not self._knows_token(request.path):
            return "refused: the token is missing; open the whole address that was printed where the page was started."
        if not self._leads_here(request):
            return "refused: this address would let another server draw the page; leave out what follows the '?'."
        return None

    def inner_path(self, path: str) -> str:
        """A path without the token."""
        return "/" + path.lstrip("/").removeprefix(self.token).lstrip("/") if self.token else path

    def _knows_token(self, path: str) -> bool:
        first = path.partition("?")[0].lstrip("/").partition("/")[0]
        return hmac.compare_digest(first.encode(errors="surrogateescape"), self.token.encode())

    def _is_ours(self, place: Place, served_at: Place) -> bool:
        name, port = place
        address, served_port = _plain(served_at[0]), served_at[1]
        if port == served_port and name in {*self._names, address}:
            return True
        ports = {served_port, *_DEFAULT_PORTS.values()}
        return any(name == known and port in ({own} if own else ports) for known, own in self._published)

    def _is_own_page(self, origins: Sequence[str], served_at: Place) -> bool:
        place = _origin_place(origins[0]) if len(origins) == 1 else None
        return place is not None and self._is_ours(place, served_at)

    def _leads_here(self, request: Request) -> bool:
        """Whether the page will draw what this server says: its client obeys another one that its address names."""
        for name, value in parse_qsl(request.path.partition("?")[2], keep_blank_values=True):
            if name == "playbackPath":
                return False
            if name == "websocket":
                try:
                    found = urlsplit(value)
                except ValueError:  # half an address
                    return False
                place = _place(found.netloc, 443 if found.scheme == "wss" else 80)
                if found.scheme not in ("ws", "wss") or place is None or not self._is_ours(place, request.served_at):
                    return False
        return True


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens on an address."""
    try:
        found = socket.getaddrinfo(host or None, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError:
        return False
    return all(ipaddress.ip_address(str(entry[4][0]).partition("%")[0]).is_loopback for entry in found)


def _published(text: str) -> tuple[str, int | None]:
    found = _ADDRESS.fullmatch(text.strip())
    port = int(found["port"]) if found and found["port"] else None
    if found is None or (port is not None and not 0 < port < 65536):
        raise InvalidValue(
            f"allowed host {text!r} must be a name or an address, with a port if it is another one: "
            "robots.example.org or robots.example.org:9000."
        )
    return _plain(found["name"]), port


def _plain(name: str) -> str:
    """A name or address in the one spelling that is compared."""
    name = name.strip().strip("[]").rstrip(".").lower()
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return name
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def _place(text: str, default_port: int) -> Place | None:
    found = _ADDRESS.fullmatch(text)
    return (_plain(found["name"]), int(found["port"] or default_port)) if found else None


def _origin_place(origin: str) -> Place | None:
    scheme, slashes, rest = origin.partition("://")
    port = _DEFAULT_PORTS.get(scheme.lower())
    return _place(rest, port) if slashes and port is not None else None


def _not_served(header: str, given: Sequence[str]) -> str:
    shown = ascii(", ".join(given)[:200])[1:-1]
    remedy = f"; if it should be, start it with --allow-host {shown.partition('://')[2] or shown}" if shown else ""
    return f"refused: this page is not served to {header} '{shown}'{remedy}."
