"""Kernels of the environments, one file a concern."""

import annelid.core.device  # noqa: F401  starts Warp quietly
