"""What other packages add by entry points: found by name, loaded once, refused with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from symbolic.errors import SwizzleError
from symbolic.extensions import _found, extension, extension_names


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that installs a package of one file, for the time of a test."""

    def install(name: str, source: str, points: str) -> None:
        (tmp_path / f"{name}.py").write_text(source)
        info = tmp_path / f"{name}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (info / "entry_points.txt").write_text(points)

    monkeypatch.syspath_prepend(tmp_path)
    _found.cache_clear()
    yield install
    _found.cache_clear()


def test_a_package_adds_a_thing(package):
    """It is found by its name and group, and nowhere else."""
    package("extending_one", "THING = object()\n", "[swizzle.costs]\nthing = extending_one:THING\n")
    import extending_one

    assert extension("costs", "thing") is extending_one.THING
    assert extension("families", "thing") is None
    assert extension("costs", "other") is None
    assert "thing" in extension_names("costs")


def test_two_packages_with_one_name(package):
    """Neither wins."""
    for name in ("extending_two", "extending_three"):
        package(name, "THING = 1\n", f"[swizzle.costs]\nthing = {name}:THING\n")
    with pytest.raises(SwizzleError, match=r"two packages have 'thing' in swizzle\.costs: extending_three:THING and"):
        extension("costs", "thing")


@pytest.mark.parametrize(
    ("source", "why"),
    [("1 / 0\n", "ZeroDivisionError"), ("", "AttributeError"), ("raise SystemExit(7)\n", "SystemExit")],
)
def test_a_package_that_cannot_be_loaded(package, source, why):
    """The message names the package and what went wrong in it."""
    name = f"extending_{why.lower()}"
    package(name, source, f"[swizzle.operators]\nthing = {name}:THING\n")
    with pytest.raises(SwizzleError, match=rf"'thing' of swizzle\.operators cannot be loaded from .*: {why}"):
        extension("operators", "thing")


def test_a_mistake_with_a_place_of_its_own(package):
    """What a package's operator gets wrong is said as if the package were imported."""
    source = "from swizzle import operator\n@operator\ndef minus(a, b):\n    return a - b\n"
    package("extending_five", source, "[swizzle.operators]\nminus = extending_five:minus\n")
    with pytest.raises(SwizzleError, match=r"^(?!.*cannot be loaded).*the operator minus") as caught:
        extension("operators", "minus")
    assert caught.value.place is not None and caught.value.place.line == 2


def test_metadata_that_is_no_list(package):
    """A line without `=`, of whatever package, is a mistake and no bug of ours."""
    package("extending_six", "", "[swizzle.operators]\nminus\n")
    with pytest.raises(SwizzleError, match="entry points of an installed package cannot be read: TypeError"):
        extension("operators", "minus")
