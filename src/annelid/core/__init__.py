"""The base of all physics: devices, launches, the run loop, snapshots, recordings, measurements and errors.

Whatever uses Warp imports `core.device`, which starts it quietly, directly or by way of others; a test looks at that.
"""
