"""Who is let in: the address served and nobody else, whatever a foreign page makes a browser send."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from annelid.core.errors import InvalidValue
from annelid.core.recording import Recorder
from annelid.core.snapshot import Look
from annelid.view.browser.live import LiveViewer
from annelid.view.browser.replay import ReplayViewer

from .fakes import Hop

viser = pytest.importorskip("viser", reason="needs viser: pip install annelid[view]")

EVERYWHERE = "0.0.0.0"


@pytest.fixture(scope="module")
def viewer() -> Iterator[LiveViewer]:
    with LiveViewer({"hop": Hop}, Hop(), port=18500, allow_hosts=("robots.example.org", "tunnel:9000")) as made:
        yield made


@pytest.fixture(scope="module")
def public() -> Iterator[LiveViewer]:
    with LiveViewer({"hop": Hop}, Hop(), host=EVERYWHERE, port=18520) as made:
        yield made


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReplayViewer]:
    path: Path = tmp_path_factory.mktemp("replay") / "r.rec"
    with Recorder(path, scene="hop") as recorder:
        recorder.write(Hop().build().snapshot(Look()))
    with ReplayViewer(path, port=18540) as made:
        yield made


def status(port: int, *headers: str, path: str = "/", upgrade: bool = False, to: str = "127.0.0.1") -> tuple[int, str]:
    """Status and text of the answer to a request that is written by hand."""
    lines = [f"GET {path} HTTP/1.1", *headers]
    if upgrade:
        lines += ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
        lines += ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", f"Sec-WebSocket-Protocol: viser-v{viser.__version__}"]
    with socket.create_connection((to, port), timeout=10.0) as line:
        line.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = b""
        while b"\r\n\r\n" not in answer or (not upgrade and len(answer) < 2000):
            received = line.recv(4096)
            if not received:
                break
            answer += received
    return int(answer.split()[1]), answer.decode(errors="replace")


def port_of(viewer: LiveViewer | ReplayViewer) -> int:
    return int(viewer.page.server.get_port())


@pytest.mark.parametrize("upgrade", [False, True])
@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]", "LOCALHOST", "[0:0:0:0:0:0:0:1]"])
def test_all_names_of_the_address_served_are_let_in(viewer: LiveViewer, name: str, upgrade: bool) -> None:
    port = port_of(viewer)
    wanted = 101 if upgrade else 200
    host = f"Host: {name}:{port}"
    assert status(port, host, upgrade=upgrade)[0] == wanted
    assert status(port, host, f"Origin: http://{name}:{port}", upgrade=upgrade)[0] == wanted


@pytest.mark.parametrize("upgrade", [False, True])
@pytest.mark.parametrize(
    "name",
    ["evil.example:{port}", "127.0.0.1.evil.example:{port}", "127.0.0.1:{other}", "localhost", "192.0.2.1:{port}", "",
     "localhost:{port}@evil.example", "localhost:{port}, evil.example", "localhost:", "[::1", "münchen:{port}",
     "localhost:{port}/x"],
)  # fmt: skip
def test_a_foreign_host_is_refused(viewer: LiveViewer, name: str, upgrade: bool) -> None:
    port = port_of(viewer)
    given = name.format(port=port, other=port + 1)
    code, text = status(port, f"Host: {given}", upgrade=upgrade)
    assert code == 403
    assert "Host" in text


def test_a_request_without_a_host_or_with_two_is_refused(viewer: LiveViewer) -> None:
    port = port_of(viewer)
    assert status(port)[0] == 403
    assert status(port, f"Host: 127.0.0.1:{port}", "Host: evil.example")[0] == 403


@pytest.mark.parametrize("upgrade", [False, True])
@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "http://evil.example:{port}", "http://127.0.0.1:{other}", "http://localhost", "null",
     "file://", "https://localhost.evil.example:{port}", "http://192.0.2.1:{port}", "ftp://localhost:{port}",
     "http://localhost:{port}.evil.example", "http://localhost:{port}@evil.example", "localhost:{port}", ""],
)  # fmt: skip
def test_a_foreign_origin_is_refused(viewer: LiveViewer, origin: str, upgrade: bool) -> None:
    port = port_of(viewer)
    given = origin.format(port=port, other=port + 1)
    code, text = status(port, f"Host: 127.0.0.1:{port}", f"Origin: {given}", upgrade=upgrade)
    assert code == 403
    assert "Origin" in text


def test_published_names_are_let_in(viewer: LiveViewer) -> None:
    port = port_of(viewer)
    own = f"Host: 127.0.0.1:{port}"
    for name in ("robots.example.org", f"robots.example.org:{port}", "robots.example.org:443", "tunnel:9000"):
        assert status(port, f"Host: {name}", upgrade=True)[0] == 101
    for origin in ("https://robots.example.org", "http://robots.example.org", "http://tunnel:9000"):
        assert status(port, own, f"Origin: {origin}", upgrade=True)[0] == 101
    for origin in ("https://robots.example.org:1234", "http://tunnel", "http://x.robots.example.org"):
        assert status(port, own, f"Origin: {origin}", upgrade=True)[0] == 403
    with pytest.raises(InvalidValue, match=r"allowed host 'https://a\.org' must be"):
        LiveViewer({"hop": Hop}, Hop(), port=18500, allow_hosts=("https://a.org",))


def test_the_page_cannot_be_made_to_obey_another_server(viewer: LiveViewer) -> None:
    """A link to the page that names another server or a recording would run that one's scripts as our page."""
    port = port_of(viewer)
    host = f"Host: localhost:{port}"
    for query in ("websocket=ws://evil.example", "web%73ocket=wss%3A%2F%2Fevil.example/x", "playbackPath=data:,x",
                  "a=1&websocket=", f"websocket=ws://localhost:{port + 1}", "websocket=//evil.example",
                  "websocket=ws://["):  # fmt: skip
        assert status(port, host, path=f"/?{query}")[0] == 403, query
    assert status(port, host, path=f"/?darkMode&websocket=ws://localhost:{port}/x")[0] == 200


def test_only_this_machine_needs_no_token(viewer: LiveViewer) -> None:
    assert viewer.url == f"http://127.0.0.1:{port_of(viewer)}"


@pytest.mark.parametrize("upgrade", [False, True])
def test_beyond_this_machine_a_token_is_asked_for(public: LiveViewer, upgrade: bool) -> None:
    port = port_of(public)
    wanted = 101 if upgrade else 200
    start, _, token = public.url.rstrip("/").rpartition("/")
    assert start == f"http://localhost:{port}"
    assert len(token) >= 20
    host = f"Host: localhost:{port}"
    for path in (f"/{token}", f"/{token}/", f"/{token}/?darkMode"):
        assert status(port, host, path=path, upgrade=upgrade)[0] == wanted
    for path in ("/", "/index.html", f"/{token[:-1]}", f"/{token}x", f"/x/{token}", f"/?token={token}", "/%00é"):
        assert status(port, host, path=path, upgrade=upgrade)[0] in (400, 403)
    origin = "Origin: http://evil.example"
    assert status(port, host, origin, path=f"/{token}/", upgrade=upgrade)[0] == 403
    assert status(port, f"Host: {socket.gethostname()}:{port}", path=f"/{token}/", upgrade=upgrade)[0] == wanted
    assert status(port, f"Host: evil.example:{port}", path=f"/{token}/", upgrade=upgrade)[0] == 403


def test_each_page_has_another_token(public: LiveViewer) -> None:
    with LiveViewer({"hop": Hop}, Hop(), host=EVERYWHERE, port=18530) as other:
        assert other.url.split("/")[3] != public.url.split("/")[3]


def test_recordings_are_guarded_alike(replay: ReplayViewer) -> None:
    port = port_of(replay)
    host = f"Host: 127.0.0.1:{port}"
    assert status(port, host, f"Origin: http://localhost:{port}", upgrade=True)[0] == 101
    assert status(port, host, "Origin: http://evil.example", upgrade=True)[0] == 403
    assert status(port, f"Host: evil.example:{port}")[0] == 403


def test_an_address_of_the_sixth_version_is_written_in_brackets() -> None:
    if not socket.has_ipv6:
        pytest.skip("needs IPv6")
    try:
        with LiveViewer({"hop": Hop}, Hop(), host="::1", port=18560) as viewer:
            port = port_of(viewer)
            assert viewer.url == f"http://[::1]:{port}"
            assert status(port, f"Host: [::1]:{port}", to="::1")[0] == 200
    except InvalidValue:
        pytest.skip("needs an IPv6 address")
