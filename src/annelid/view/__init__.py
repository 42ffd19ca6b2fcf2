"""From snapshots to pictures, videos, files and the browser. Knows no physics."""

import annelid.core.device  # noqa: F401  starts Warp quietly
