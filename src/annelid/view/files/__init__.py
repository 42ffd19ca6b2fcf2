"""Snapshots and recordings as files of other programs: HTML, PLY, VTU; the suffix chooses."""
