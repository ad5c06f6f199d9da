"""One wrong sketch a file: `tests/errors/NAME.swz` and the whole message it must give, in `NAME.txt`."""

from pathlib import Path

import pytest

from swizzle import SwizzleError, load

ERRORS = Path(__file__).parent / "errors"
NAMES = sorted(path.stem for path in ERRORS.glob("*.swz"))


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_sketch_gives_its_message(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the place, what was found, what was expected and how to mend it."""
    monkeypatch.chdir(ERRORS)
    with pytest.raises(SwizzleError) as caught:
        load(f"{name}.swz")
    assert f"{caught.value}\n" == (ERRORS / f"{name}.txt").read_text(encoding="utf-8")


def test_every_file_has_its_pair() -> None:
    """No message lies there without a sketch, and there are sketches."""
    assert len(NAMES) >= 60
    assert sorted(path.stem for path in ERRORS.glob("*.txt")) == NAMES
