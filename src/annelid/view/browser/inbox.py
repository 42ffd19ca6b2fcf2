"""What browsers send, checked before viser takes it: messages of the page's own client, values that a control can have.

viser believes whatever arrives: it sets any attribute of a control to any value, puts an uploaded file where a number
was, and publishes the page on the web when told to. Messages that the page never sends are dropped without a word; a
value that a control cannot have is refused with a sentence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from annelid.core.packages import optional

MAX_UPLOAD = 200_000_000  # bytes
_MAX_PARTS = 10_000
_MAX_UPLOADS = 4  # at a time
_MAX_TEXT = 4_000
_FAR = 1e9  # metres, or what else a coordinate is in
_KINDS = (
    "FileTransferPart",
    "FileTransferStartUpload",
    "GuiUpdateMessage",
    "SceneNodeClickMessage",
    "ScenePointerMessage",
    "TransformControlsDragEndMessage",
    "TransformControlsDragStartMessage",
    "TransformControlsUpdateMessage",
    "ViewerCameraMessage",
)


class Refused(Exception):
    """A value cannot be used; the sentence says which would be."""


class Inbox:
    """Lets messages in that the page's own client could have sent.

    Args:
        refused: Called with a sentence for a value that a control cannot have.

    Attributes:
        server: The viser server whose controls they are for, once it is there.
    """

    def __init__(self, refused: Callable[[str], None]) -> None:
        self._refused = refused
        self.server: Any = None

    def admits(self, raw: bytes | str, uploads: dict[str, int]) -> bool:
        """Whether viser may have a message.

        Args:
            raw: As it came.
            uploads: Bytes to come of each file that is being uploaded over this connection.
        """
        message = _decoded(raw)
        if message is None:
            return False
        check = {
            "GuiUpdateMessage": self._check_update,
            "FileTransferStartUpload": lambda message: self._check_upload(message, uploads),
            "FileTransferPart": lambda message: _is_expected(message, uploads),
            "ScenePointerMessage": _is_click,
        }.get(message["type"])
        try:
            return check is None or check(message)
        except Refused as sentence:
            self._refused(str(sentence))
            return False

    def _control(self, uuid: str) -> Any:
        gui = self.server.gui if self.server is not None else None
        return gui._gui_input_handle_from_uuid.get(uuid) if gui is not None else None

    def _check_update(self, message: Mapping[str, Any]) -> bool:
        control = self._control(message["uuid"])
        if control is None or set(message["updates"]) != {"value"}:
            return False
        check_value(control, message["updates"]["value"])
        return True

    def _check_upload(self, message: Mapping[str, Any], uploads: dict[str, int]) -> bool:
        viser = optional("viser", purpose="the viewer", extra="view")
        if not isinstance(self._control(message["source_component_uuid"]), viser.GuiUploadButtonHandle):
            return False
        size, parts = message["size_bytes"], message["part_count"]
        if size > MAX_UPLOAD:
            raise Refused(f"a file of {size / 1e6:.0f} MB cannot be uploaded, at most {MAX_UPLOAD / 1e6:.0f} MB can.")
        if len(uploads) >= _MAX_UPLOADS:
            raise Refused(f"{_MAX_UPLOADS} files are being uploaded already; wait for one of them.")
        if size < 0 or not 0 <= parts <= _MAX_PARTS:
            return False
        if parts > 0:
            uploads[message["transfer_uuid"]] = int(size)
        return True


def _is_expected(message: Mapping[str, Any], uploads: dict[str, int]) -> bool:
    """Whether a part belongs to a file that is being uploaded, and is not more of it than was announced."""
    name = message["transfer_uuid"]
    left = uploads.get(name, -1) - len(message["content"])
    if left <= 0:
        uploads.pop(name, None)
    else:
        uploads[name] = left
    return left >= 0


def _is_click(message: Mapping[str, Any]) -> bool:
    ray = message["ray_origin"] is not None and message["ray_direction"] is not None
    return message["event_type"] == "click" and ray and len(message["screen_pos"]) > 0


def check_value(control: Any, value: Any) -> None:
    """Refuse a value that a control cannot have.

    Args:
        control: A viser handle.
        value: As it came from a browser.
    """
    viser = optional("viser", purpose="the viewer", extra="view")
    if isinstance(control, (viser.GuiSliderHandle, viser.GuiNumberHandle)):
        whole = isinstance(control.value, int)
        _check_number(control.label, value, control.min, control.max, whole=whole)
    elif isinstance(control, viser.GuiVector3Handle):
        if not isinstance(value, list | tuple) or len(value) != 3:
            raise Refused(f"{control.label!r} must be three numbers, not {_shown(value)}.")
        for axis, number in enumerate(value):
            low, high = (None if ends is None else ends[axis] for ends in (control.min, control.max))
            _check_number(control.label, number, low, high)
    elif isinstance(control, (viser.GuiDropdownHandle, viser.GuiButtonGroupHandle)):
        if not isinstance(value, str) or value not in control.options:
            known = ", ".join(control.options)
            raise Refused(f"{_name(control)!r} must be one of {known}, not {_shown(value)}.")
    elif isinstance(control, viser.GuiTextHandle):
        if not isinstance(value, str) or len(value) > _MAX_TEXT:
            raise Refused(f"{control.label!r} must be a text of at most {_MAX_TEXT} letters, not {_shown(value)}.")
    elif not isinstance(control, (viser.GuiCheckboxHandle, viser.GuiButtonHandle)) or not isinstance(value, bool):
        raise Refused(f"{_name(control)!r} cannot be {_shown(value)}.")


def _check_number(label: str, value: Any, low: float | None, high: float | None, *, whole: bool = False) -> None:
    kind = "a whole number" if whole else "a number"
    low, high = -math.inf if low is None else low, math.inf if high is None else high
    slack = 1e-6 * (high - low) if math.isfinite(high - low) else 0.0  # sliders round their ends
    good = _is_number(value) and low - slack <= value <= high + slack and (not whole or value == int(value))
    if not good:
        ends = [f"from {low:g}" if low > -math.inf else "", f"to {high:g}" if high < math.inf else ""]
        raise Refused(" ".join(filter(None, (f"{label!r} must be {kind}", *ends))) + f", not {_shown(value)}.")


def _is_number(value: Any, most: float = 1e300) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= most


def _name(control: Any) -> str:
    return str(control.label) or "a button"


def _shown(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _decoded(raw: bytes | str) -> dict[str, Any] | None:
    """A message by the names of its fields, if it is one that the page sends and all its fields are of their types."""
    msgpack = optional("msgspec.msgpack", purpose="the viewer", extra="view")
    messages = optional("viser._messages", purpose="the viewer", extra="view")
    try:
        message = msgpack.decode(raw) if isinstance(raw, bytes) else None
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return None
    if not isinstance(message, dict) or message.get("type") not in _KINDS:
        return None
    needed, hints = _shape(vars(messages)[message["type"]])
    given = {name: value for name, value in message.items() if name != "type"}
    complete = needed <= set(given) <= set(hints)
    return message if complete and all(fits(value, hints[name]) for name, value in given.items()) else None


@cache
def _shape(kind: type) -> tuple[set[str], dict[str, Any]]:
    """The fields that a message must have, and the types of all that it may have."""
    hints = get_type_hints(kind)
    needed = {f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING}
    return needed, {f.name: hints[f.name] for f in fields(kind)}


def fits(value: Any, hint: Any) -> bool:
    """Whether a value that came as MessagePack is of an annotated type; coordinates must be finite and not absurd."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(fits(value, kind) for kind in inner)
    if origin is Literal:
        return isinstance(value, str) and value in inner
    if origin is tuple:
        if not isinstance(value, list | tuple):
            return False
        kinds = (inner[0],) * len(value) if inner[-1] is Ellipsis else inner
        return len(kinds) == len(value) and all(map(fits, value, kinds))
    if origin is dict:
        return isinstance(value, dict) and all(isinstance(key, str) for key in value)
    if hint is float or hint is int:
        return _is_number(value, _FAR)
    if hint is str:
        return isinstance(value, str) and len(value) <= _MAX_TEXT
    return hint is Any or (hint in (bytes, bool, NoneType) and isinstance(value, hint))
