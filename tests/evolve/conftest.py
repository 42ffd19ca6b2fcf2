"""The problems of these tests must be importable by name, here and in worker processes."""

import os
import sys
from pathlib import Path

# Before anything imports Numba: compiling what ribs does for small populations takes longer than all of their searches.
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")

HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    sys.path.append(HERE)
