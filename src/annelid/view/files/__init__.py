"""Snapshots and recordings as files of other programs; the suffix chooses, see `export`."""
