"""Optional packages: found when they are there, named with a remedy when they are not."""

import sys

import numpy
import pytest

from annelid.core.errors import AnnelidError, MissingPackage
from annelid.core.packages import installed, optional


def test_a_module_that_is_there_is_returned() -> None:
    assert optional("numpy.linalg", purpose="a test", extra="all") is numpy.linalg
    assert installed("numpy")


def test_a_missing_one_is_named_with_its_extra() -> None:
    with pytest.raises(MissingPackage, match=r"a dream needs nowhere_1, .*: pip install 'annelid\[all\]'\.") as caught:
        optional("nowhere_1.part", purpose="a dream", extra="all")
    assert isinstance(caught.value, AnnelidError)
    assert isinstance(caught.value, ImportError)
    assert not installed("nowhere_1")


def test_the_package_is_named_where_its_module_has_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingPackage, match="needs Pillow"):
        optional("PIL.Image", purpose="a picture", extra="view", package="Pillow")
