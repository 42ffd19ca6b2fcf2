"""Optional packages: found when they are there, named with a remedy when they are not."""

import re
import sys
from pathlib import Path

import numpy
import pytest

from annelid.core.errors import AnnelidError, MissingPackage
from annelid.core.packages import installation, installed, optional


def test_a_module_that_is_there_is_returned() -> None:
    assert optional("numpy.linalg", purpose="a test", extra="all") is numpy.linalg
    assert installed("numpy")


def test_a_missing_one_is_named_with_its_extra() -> None:
    sentence = f"a dream needs nowhere_1, which is not installed: {installation('all')}."
    with pytest.raises(MissingPackage, match=f"^{re.escape(sentence)}$") as caught:
        optional("nowhere_1.part", purpose="a dream", extra="all")
    assert isinstance(caught.value, AnnelidError)
    assert isinstance(caught.value, ImportError)
    assert not installed("nowhere_1")


def test_one_that_is_there_but_broken_is_not_called_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_1.py").write_text("raise ImportError('libbroken.so: no such file')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingPackage, match=r"is installed but cannot be imported \(libbroken\.so: no such file\)"):
        optional("broken_1", purpose="a dream", extra="all")


def test_the_package_is_named_where_its_module_has_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingPackage, match="needs Pillow"):
        optional("PIL.Image", purpose="a picture", extra="view", package="Pillow")
