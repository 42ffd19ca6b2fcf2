"""Published experiments, one file each: `annelid study NAME`."""

import annelid.core.device  # noqa: F401  starts Warp quietly
