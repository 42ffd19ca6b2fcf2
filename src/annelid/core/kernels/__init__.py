"""Kernels that all physics share."""

import annelid.core.device  # noqa: F401  starts Warp quietly
