"""Recordings: snapshots over time in one file."""

from annelid.core.recording.recorder import Recorder, Recording

__all__ = ["Recorder", "Recording"]
