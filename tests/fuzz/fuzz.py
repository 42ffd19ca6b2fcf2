"""Damaged files for every reader: `python tests/fuzz/fuzz.py --cases 100000` reports what became of them.

Files are read in a child process. It dies with a crash, is killed when a file takes too long, and goes on with the next
one. Whatever is not read must be refused with a sentence of ours; anything else is a finding, which the report names
with its seed: `--reader NAME --first SEED --cases 1` repeats it.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import resource
import select
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent)]

from mutations import mutated  # noqa: E402
from readers import READERS  # noqa: E402

MOST_SECONDS = 2.0
"""Processor time that a file may take [s]."""
MOST_TIMES = 20
"""Memory that a file may take, in sizes of the file; what any file takes, however small, comes on top."""
ANY_FILE = 4 << 20
_PATIENCE = 30.0  # wall time, on a machine that is busy with other things [s]
_ADDRESS_SPACE = 8 << 30


@dataclass
class Tally:
    """What became of the files of a reader."""

    outcomes: collections.Counter[str] = field(default_factory=collections.Counter)
    worst_seconds: float = 0.0
    worst_bytes: int = 0
    worst_times: float = 0.0
    findings: list[str] = field(default_factory=list)

    def add(self, seed: int, found: dict[str, Any]) -> None:
        """Count a file."""
        outcome, size = found["outcome"], max(found["size"], 1)
        if outcome in ("read", "refused") and found["seconds"] > MOST_SECONDS:
            outcome = "slow"
        elif outcome in ("read", "refused") and found["bytes"] > MOST_TIMES * size + ANY_FILE:
            outcome = "greedy"
        self.outcomes[outcome] += 1
        self.worst_seconds = max(self.worst_seconds, found["seconds"])
        self.worst_bytes = max(self.worst_bytes, found["bytes"])
        self.worst_times = max(self.worst_times, (found["bytes"] - ANY_FILE) / size)
        if outcome not in ("read", "refused"):
            self.findings.append(
                f"seed {seed}: {outcome} {found['text']} ({found['seconds']:.2f} s, {found['bytes']} B)"
            )


def fuzz(name: str, first: int, cases: int) -> Tally:
    """Read so many damaged files, in as many child processes as it takes."""
    tally, seed, end = Tally(), first, first + cases
    while seed < end:
        child = subprocess.Popen(
            [sys.executable, __file__, "--child", "--reader", name, "--first", str(seed), "--cases", str(end - seed)],
            stdout=subprocess.PIPE,
        )
        try:
            for line in _lines(child):
                tally.add(seed, json.loads(line))
                seed += 1
        finally:
            child.kill()
            child.wait()
        if seed < end:
            how = "hang" if child.returncode == -9 else f"crash {child.returncode}"
            tally.add(seed, {"outcome": how.split()[0], "seconds": 0.0, "bytes": 0, "size": 1, "text": how})
            seed += 1
    return tally


def _lines(child: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """What the child says, until it ends or says nothing for too long; its start may take longer."""
    assert child.stdout is not None
    patience, buffer = 4 * _PATIENCE, b""
    while select.select([child.stdout], [], [], patience)[0]:
        said = os.read(child.stdout.fileno(), 1 << 16)
        if not said:
            child.wait()
            return
        patience = _PATIENCE
        *lines, buffer = (buffer + said).split(b"\n")
        yield from lines


def _child(name: str, first: int, cases: int) -> None:
    from annelid.core.errors import AnnelidError

    warnings.simplefilter("ignore")
    reader, out = READERS[name], os.dup(1)
    os.dup2(2, 1)  # nothing else may speak here
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"sample{reader.suffix}"
        read = reader.make(path)
        sample = path.read_bytes()
        read(path)
        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
        tracemalloc.start()
        for seed in range(first, first + cases):
            path.write_bytes(mutated(sample, seed, reader.extra))
            tracemalloc.reset_peak()
            before, begin, text = tracemalloc.get_traced_memory()[0], time.process_time(), ""
            try:
                read(path)
                outcome = "read"
            except AnnelidError as error:
                outcome, text = "refused", str(error)
                if "\n" in text or "Traceback" in text:
                    outcome = "unclear"
            except BaseException as error:
                outcome, text = "raw", f"{type(error).__name__}: {error}"[:300]
            found = {
                "outcome": outcome,
                "seconds": time.process_time() - begin,
                "bytes": tracemalloc.get_traced_memory()[1] - before,
                "size": path.stat().st_size,
                "text": text if outcome not in ("read", "refused") else "",
            }
            os.write(out, json.dumps(found).encode() + b"\n")


def main() -> int:
    """Fuzz all readers, or one; the exit code is 1 where something was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reader", choices=READERS, help="one reader only")
    parser.add_argument("--cases", type=int, default=100_000, help="files in all")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        _child(options.reader, options.first, options.cases)
        return 0
    names = [options.reader] if options.reader else list(READERS)
    each, found, total = -(-options.cases // len(names)), 0, collections.Counter[str]()
    for name in names:
        tally = fuzz(name, options.first, each)
        counts = ", ".join(f"{outcome} {count}" for outcome, count in sorted(tally.outcomes.items()))
        print(
            f"{name:12} {counts}; worst {tally.worst_seconds:.3f} s, {tally.worst_bytes / 1e6:.2f} MB, "
            f"{max(tally.worst_times, 0.0):.1f} x the file above {ANY_FILE / 1e6:.1f} MB",
            flush=True,
        )
        for finding in tally.findings[:20]:
            print(f"  {finding}", flush=True)
        found += len(tally.findings)
        total += tally.outcomes
    print(f"{sum(total.values())} files: {', '.join(f'{k} {v}' for k, v in sorted(total.items()))}; {found} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
