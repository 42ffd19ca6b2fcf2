"""Recordings: snapshots over time in one file."""

from annelid.core.recording.recorder import Recorder as Recorder
from annelid.core.recording.recorder import Recording as Recording
