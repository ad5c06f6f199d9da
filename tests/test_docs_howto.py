"""The how-to pages are true: their sessions print what is shown, and their Python runs."""

from __future__ import annotations

import io
import re
import runpy
from pathlib import Path

import pytest

from swizzle import Limits, solve
from swizzle.commands.output import MISTAKE, NO
from swizzle.commands.process import execute
from swizzle.solving.solution.saved import load_saved
from symbolic.errors import SwizzleError
from symbolic.extensions import _found
from tests.pages import DOCS, blocks_of, files_of, run_again, text_of, untimed


@pytest.mark.parametrize("name", ["write-a-sketch.md", "device-functions.md", "read-a-certificate.md"])
def test_the_session_prints_what_the_page_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sketch, one command; times are blanked, those of `--certify` too."""
    monkeypatch.chdir(tmp_path)
    page = text_of(name)
    for file, text in files_of(page).items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    (session,) = blocks_of(page, "console")
    seconds = re.compile(r"\d+\.\d+ s\b")
    assert seconds.sub("_ s", untimed(run_again(session))) == seconds.sub("_ s", untimed(session))


@pytest.mark.parametrize("name", ["quadratic.py", "cost.py", "gcd.py", "affine.py", "algebra.py"])
def test_the_extensions_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The assertions of each snippet hold."""
    (tmp_path / name).write_text(files_of(text_of("extend.md"))[name], encoding="utf-8")
    runpy.run_path(str(tmp_path / name), run_name="__main__")


def test_a_second_description_that_lacks_what_was_found_confirms_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`Again` of seven offsets does not have the eighth, which the solution takes."""
    text = files_of(text_of("extend.md"))["quadratic.py"]
    lying = text.replace("for b in range(n)])", "for b in range(n) if b != 1])")
    assert lying != text
    monkeypatch.setattr("templates.registry._USERS", {})
    (tmp_path / "quadratic.py").write_text(lying, encoding="utf-8")
    names = runpy.run_path(str(tmp_path / "quadratic.py"))
    limits = Limits(space="4", all_solutions=True, certify=True)
    (claim,) = solve(names["probe"], limits, families=[names["FAMILY"]]).certificate["confirmed"]
    assert claim["verdict"] == "not confirmed: the second description of a family lacks a filling that was found"


def test_an_installed_family_is_known_to_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's file and metadata, as a package: its session, a certificate, a solution file that is read back."""
    page = text_of("extend.md")
    (tmp_path / "quadratic.py").write_text(files_of(page)["quadratic.py"], encoding="utf-8")
    info = tmp_path / "quadratic-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: quadratic\nVersion: 1\n")
    declared = (
        blocks_of(page, "ini")[0]
        .replace("options.entry_points]\n", "")
        .replace("swizzle.families =", "swizzle.families]")
    )
    (info / "entry_points.txt").write_text(declared)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    _found.cache_clear()
    session = blocks_of(page, "console")[0]
    assert untimed(run_again(session)) == untimed(session)
    done = run_again("$ swizzle solve quadratic.py --families quadratic --space 4 --all --certify -o out\n")
    assert "certify no filling besides those found: 1 in Space 4: confirmed by" in done, done
    many = run_again("$ swizzle solve quadratic.py --families quadratic --space 4 --all --cost terms; echo $?\n")
    assert "not proved minimal in Space 4" in many  # a formula of the family for another function may be shorter
    monkeypatch.setattr("templates.registry._USERS", {})  # as another process
    assert "rotate by 3 * k * k + 1 " in run_again("$ swizzle show out/probe.json\n")
    assert "verified for all inputs" in run_again("$ swizzle check out/probe.json\n")
    (info / "entry_points.txt").write_text("")  # the package is not installed any more
    monkeypatch.setattr("templates.registry._USERS", {})
    _found.cache_clear()
    with pytest.raises(SwizzleError) as caught:
        load_saved(Path("out/probe.json"), {})
    assert str(caught.value) == (
        "error: xform1 of out/probe.json has a function of the family 'quadratic': there is no family 'quadratic'\n"
        "  expected: a package that names quadratic under swizzle.families in its metadata (docs/extend.md)\n"
        "  fix: install that package in this Python's environment, or write --families FILE.py:NAME"
    )
    _found.cache_clear()
    assert "verified for all inputs" in run_again("$ swizzle check out/probe.json --families quadratic.py:FAMILY\n")
    monkeypatch.setattr("templates.registry._USERS", {})
    assert "probe: solved" in run_again("$ swizzle solve quadratic.py --families quadratic.py:FAMILY\n")


def test_the_command_line_takes_costs_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a file has at its top level, beside names; each mistake is one error."""
    (tmp_path / "cost.py").write_text(files_of(text_of("extend.md"))["cost.py"], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    found = run_again("$ swizzle solve cost.py --cost cost.py:Operations,conflicts,cost.py:Lines\n")
    assert "9 operations, proved minimal" in found and "4 lines, proved minimal among these" in found
    for word, complaint in {
        "cost.py:operations": "a cost at its top level\n  fix: did you mean Operations?",
        "cost.py": "expected: FILE.py:NAME, a cost at its top level\n  fix: write cost.py:NAME",
        "costs.py:Lines": "costs.py cannot be read",
        "cost.py:load": "is not a cost",
    }.items():
        assert complaint in refused("solve", "cost.py", "--cost", word)


def refused(*arguments: str) -> str:
    """Return what a command line that is a mistake prints."""
    out, err = io.StringIO(), io.StringIO()
    assert execute(arguments, out, err) == MISTAKE
    return err.getvalue()


def test_an_installed_operator_is_known_to_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's file and metadata, as a package: its session, and a saved solution; without it, what is missing."""
    page, monkey = text_of("extend.md"), monkeypatch
    for name in ("gcd.py", "window.swz"):
        (tmp_path / name).write_text(files_of(page)[name], encoding="utf-8")
    info = tmp_path / "gcd-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gcd\nVersion: 1\n")
    (declared,) = (block for block in blocks_of(page, "ini") if "operators" in block)
    points = declared.replace("options.entry_points]\n", "").replace("swizzle.operators =", "swizzle.operators]")
    (info / "entry_points.txt").write_text(points)
    monkey.chdir(tmp_path)
    monkey.setenv("SWIZZLE_CACHE_DIR", str(tmp_path / "kept"))
    with monkey.context() as installed:
        installed.syspath_prepend(tmp_path)
        _found.cache_clear()
        session = blocks_of(page, "console")[1]
        assert untimed(run_again(session)) == untimed(session)
        assert "wrote" in run_again("$ swizzle solve window.swz -o out --certify\n")
        assert "verified for all inputs" in run_again("$ swizzle check out/window.json\n")
    (info / "entry_points.txt").unlink()
    _found.cache_clear()
    missing = refused("check", "out/window.json")
    assert "out/window.json needs the operator gcd, which no installed package has" in missing
    assert "--operators FILE.py" in missing
    assert "verified for all inputs" in run_again("$ swizzle check out/window.json --operators gcd.py\n")
    assert "'gcd' is not an outer operator" in refused("solve", "window.swz")
    assert "solved" in run_again("$ swizzle solve window.swz --operators gcd.py -o by_file\n")
    assert "verified for all inputs" in run_again("$ swizzle check by_file/window.json\n")
    (tmp_path / "gcd.py").rename(tmp_path / "elsewhere.py")
    assert "needs the operator gcd, and gcd.py is not there" in refused("check", "by_file/window.json")
    assert "no installed package has an operator 'gdc'" in refused("solve", "window.swz", "--operators", "gdc")
    (tmp_path / "no.swz").write_text(files_of(page)["window.swz"].replace("range(3)) for", "range(4)) for"))
    out = io.StringIO()
    assert execute(["solve", "no.swz", "--operators", "elsewhere.py", "-q"], out, io.StringIO()) == NO
    assert "swizzle explain no.swz --operators elsewhere.py" in out.getvalue()
    assert "x[3]" in run_again("$ swizzle explain no.swz --operators elsewhere.py\n")
    (tmp_path / "nothing.py").write_text("")
    assert "nothing.py has no operator" in refused("solve", "window.swz", "--operators", "nothing.py")
    _found.cache_clear()


def test_the_places_to_change_are_there() -> None:
    """Each file that the table of extend.md names exists."""
    named = re.findall(r"`((?:symbolic|swizzle|templates|tests|cuda_out|docs|editors)/[\w./-]*)`", text_of("extend.md"))
    assert len(named) >= 8
    assert [path for path in named if not (DOCS.parent / path).exists()] == []


@pytest.mark.slow
def test_from_a_loop_to_a_scan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each session prints what the page says, but for times, witnesses, and what `...` leaves out."""
    monkeypatch.chdir(tmp_path)
    page = text_of("from-a-loop-to-a-scan.md")
    for name in ("runs.py", "warp.py", "least.py", "block.py", "many.py"):
        (tmp_path / name).write_text(files_of(page)[name], encoding="utf-8")
    for session in blocks_of(page, "console"):
        wanted, found = (
            re.sub(r"(refuted: |witness +).*", r"\1(witness)", re.sub(r"\d+\.\d+(?= s\b|[,)])", "_", text)).splitlines()
            for text in (session, run_again(session))
        )
        if "  ..." in wanted:
            cut = wanted.index("  ...")
            assert found[:cut] == wanted[:cut] and found[cut - len(wanted) + 1 :] == wanted[cut + 1 :]
        else:
            assert found == wanted
    runs = runpy.run_path(str(tmp_path / "runs.py"))
    assert runs["best_run"]([1, -2, 3]) == 3 and runs["ewm"]([1, 2], [3, 4]) == 6
