"""Ray: a cluster of its own, one of two real nodes whose workers and driver are killed, and addresses without one."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from evolve_test_problems import BowlOptions, CrawlOptions

from annelid.core.errors import InvalidValue
from annelid.evolve import EA, Experiment, evolve, make_executor
from annelid.evolve.checkpoint import load
from annelid.evolve.executors.ray_address import ClusterUnreachable, connect
from annelid.evolve.executors.ray_cluster import RayCluster

EXPERIMENT = """
name = "crawl"
generations = 40

[problem]
name = "evolve_test_problems:CrawlOptions"
seconds = 1.0
folder = "{folder}"

[searcher]
name = "ea"
population = 12
"""
CRAWL = Experiment("crawl", CrawlOptions(seconds=1.0), EA(population=12), generations=40)


def wait(what: Callable[[], object], seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "the cluster did not get there in time"
        time.sleep(0.02)


class Cluster:
    """Nodes on this machine, each started by `ray start` as a user would, behind a token of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"
        self.environment = {**os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        self._nodes: list[subprocess.Popen] = []

    def start(self, *where: str) -> None:
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", *where, "--block", "--num-cpus=1"]
        command += ["--node-ip-address=127.0.0.1", "--object-store-memory=80000000", "--disable-usage-stats"]
        log = (self.folder / f"node-{len(self._nodes)}.log").open("w")
        self._nodes.append(
            subprocess.Popen(command, env=self.environment, stdout=log, stderr=log, start_new_session=True)
        )

    def start_head(self) -> None:
        port = self.address.rpartition(":")[2]
        self.start("--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={self.folder}")
        wait(lambda: "block forever" in (self.folder / "node-0.log").read_text())

    def start_node(self) -> None:
        self.start(f"--address={self.address}")

    def stop(self) -> None:
        for node in reversed(self._nodes):
            node.terminate()
        for node in self._nodes:
            with suppress(subprocess.TimeoutExpired):
                node.wait(20)
            with suppress(ProcessLookupError):
                os.killpg(node.pid, signal.SIGKILL)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    pytest.importorskip("ray")
    folder = Path(tempfile.mkdtemp(prefix="ray-"))  # the names of Ray's sockets must stay short
    made = Cluster(folder)
    try:
        made.start_head()
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder, ignore_errors=True)


def test_a_killed_worker_a_killed_driver_and_a_late_node_leave_no_trace(cluster: Cluster, tmp_path: Path) -> None:
    marks, out, file = tmp_path / "marks", tmp_path / "out", tmp_path / "crawl.toml"
    marks.mkdir()
    (marks / "slow").touch()
    file.write_text(EXPERIMENT.format(folder=marks))
    command = [sys.executable, "-m", "annelid", "evolve", str(file), "--out", str(out), "--device", "cpu"]
    command += ["--executor", "ray", "--ray-address", cluster.address, "--resume", "--json"]
    environment = {**cluster.environment, "PYTHONPATH": str(Path(__file__).parent)}

    def busy() -> list[int]:
        return [int(path.name.partition("-")[2]) for path in marks.glob("busy-*")]

    def generation() -> int:
        return len(load(out / "checkpoint.npz")[1]["history/best"]) - 1 if (out / "checkpoint.npz").exists() else -1

    driver = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        cluster.start_node()
        wait(lambda: len(busy()) == 2)  # the node that joined while the driver was at work is used
        victim = busy()[0]
        os.kill(victim, signal.SIGKILL)  # in the middle of its piece: its mark stays behind
        assert (marks / f"busy-{victim}").exists()
        (marks / f"busy-{victim}").unlink()
        now = generation()
        wait(lambda: generation() >= now + 2)
        wait(lambda: len(busy()) == 2)  # it was replaced
        assert victim not in busy()
    finally:
        driver.kill()
        driver.wait()
    stopped = generation()
    assert 0 <= stopped < 40
    (marks / "slow").unlink()
    subprocess.run(command, env=environment, check=True, timeout=120, stdout=subprocess.DEVNULL)
    assert generation() == 40
    evolve(CRAWL, device="cpu", folder=tmp_path / "local")
    for name in ("history.csv", "best.json"):
        assert (out / name).read_bytes() == (tmp_path / "local" / name).read_bytes()


def test_ray_on_this_machine_finds_what_one_process_finds() -> None:
    pytest.importorskip("ray")
    experiment = CRAWL.changed(generations=2, repetitions=2)
    expected = evolve(experiment, device="cpu").history
    home = Path.home() / ".ray"
    there = home.exists()
    with RayCluster(experiment.problem, device="cpu", workers=2) as executor:
        found = evolve(experiment, executor=executor, device="cpu").history
        assert len(executor._hands) == 2
        assert executor.describe() == "2 Ray actors on 1 node, one a CPU"
        with pytest.raises(InvalidValue, match="parameters are needed, not 7"):
            executor.evaluate(np.zeros((2, 7)))  # the error of a worker, as if it had been raised here
    assert all(np.array_equal(found[name], expected[name]) for name in expected)
    assert home.exists() == there


@contextmanager
def listener(answer: bytes | None) -> Iterator[str]:
    """Something that takes calls but is no Ray."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()

        def serve() -> None:
            while True:
                try:
                    line, _ = server.accept()
                except OSError:
                    return
                if answer is not None:
                    line.sendall(answer)
                    line.close()

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"


# As a proxy speaks that takes any call: settings of HTTP/2, and ":status 404" to the first one.
PROXY = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]) + bytes([0, 0, 1, 1, 5, 0, 0, 0, 1, 0x8D])


@pytest.mark.parametrize("answer", [None, b"HTTP/1.1 400 Bad Request\r\n\r\n", b"", PROXY])
def test_what_is_no_ray_is_told_soon(answer: bytes | None, tmp_path: Path) -> None:
    (tmp_path / "history.csv").write_text("kept")
    begin = time.monotonic()
    with listener(answer) as address, pytest.raises(ClusterUnreachable, match=f"no Ray cluster answers at {address}"):
        make_executor("ray", BowlOptions(), address=address)
    assert time.monotonic() - begin < 10.0
    assert (tmp_path / "history.csv").read_text() == "kept"


def test_a_closed_port_is_told_soon() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
        with pytest.raises(ClusterUnreachable, match="refused.*Results so far are kept"):
            connect(address)


@pytest.mark.parametrize("address", ["nonsense", "host:", "host:99999", "http://host:1", "a b:3"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(InvalidValue, match="must be host:port"):
        connect(address)
