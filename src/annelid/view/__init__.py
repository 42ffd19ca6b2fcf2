"""From snapshots to pictures, videos, files and the browser. Knows no physics."""

from typing import TYPE_CHECKING

import annelid.core.device  # noqa: F401  starts Warp quietly
from annelid.core.lazy import offered, public

if TYPE_CHECKING:
    from annelid.view import sensors as sensors
    from annelid.view.camera.camera import Camera
    from annelid.view.files.export import ExportOptions, export
else:  # a picture does not wait for what exports recordings
    __getattr__ = offered(
        __name__, {"": ["sensors"], "camera.camera": ["Camera"], "files.export": ["ExportOptions", "export"]}
    )

__all__ = ["Camera", "ExportOptions", "export", "sensors"]

__dir__ = public(__name__)
