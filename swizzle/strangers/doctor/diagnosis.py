"""The doctor: what is wrong with a kernel's shared memory, what mends it, and the proof that the mend is right."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from cuda_out.ptx.running.memory import Broken, Misaligned, ReadOnly, Seen
from cuda_out.ptx.syntax import Kernel, NotInterpreted
from swizzle.layouts.search import Family
from swizzle.strangers.doctor.accesses import LineAccess, by_line, not_run, of_array
from swizzle.strangers.doctor.mends import Asking, Mend, Tile, asking, is_pitch, mends, mends_apart
from swizzle.strangers.doctor.patch import patched, questions, tiles_of, view_cells
from swizzle.strangers.doctor.proof import unwritten, why_not
from swizzle.strangers.doctor.shared import SharedArray, check_own, in_macros, named, shared_arrays
from swizzle.strangers.reading.compiled import (
    Undecided,
    code_of,
    compiled,
    entry_of,
    in_source,
    in_words,
    own_name,
    own_place,
    refusal,
)
from swizzle.strangers.reading.launch import (
    KernelLaunch,
    arguments_of,
    chosen_kernel,
    flags_of,
    launch_of,
    with_said_options,
)
from swizzle.strangers.reading.run import Inputs, Ran
from swizzle.strangers.reading.text import CudaText
from symbolic.errors import Place, SwizzleError, printable

SHORT = 40_000
"""Of a run whose threads touch memory no more often than that, all mends are proved."""
Verdict = Literal["clean", "mended", "none", "race", "undecided"]
_BY_DATA = re.compile(r"depends on (?:data|the order)")
_BELOW = (64, 8, 1)
"""What whole numbers of an example are below: those that are subscripts may be of a short axis."""
_MOST_DYNAMIC = 227 << 10


class ArrayFindings(Struct):
    """What was found out about one shared array: `name` is the program's, `region` that of PTX.

    `passes` is what its accesses take together, `least` what they take in any layout. `why` says why it was not mended,
    where it has conflicts; `open` that this is no proof. Of the mends, those in `proved` and in `refused` were tried as
    a patch; `proved` says how many turns the patched kernel takes: more than the layout's, where the compiler loads
    once more what was loaded before, or no longer joins loads to a vector. In the patches of `viewed` ones the array is
    a view (`views.py`); a longer pitch needs none, and its patch only changes the declaration.
    """

    name: str
    region: str
    asked: Asking
    array: SharedArray | None
    passes: int
    phases: int
    least: int
    mends: list[Mend] = field(default_factory=list)
    proved: dict[Family, int] = field(default_factory=dict)
    refused: set[Family] = field(default_factory=set)
    viewed: set[Family] = field(default_factory=set)
    chosen: Mend | None = None
    why: str = ""
    open: bool = False

    @property
    def mended_passes(self) -> int:
        """The turns that are left."""
        return self.turns_of(self.chosen) if self.chosen is not None else self.passes

    def turns_of(self, mend: Mend) -> int:
        """Return what the array takes with a mend: as its patch was compiled, or, if it was not tried, as counted."""
        return self.proved.get(mend.kind, mend.passes)

    def is_fewest(self, mend: Mend) -> bool:
        """Say whether no layout takes fewer turns than the patch of a mend."""
        return mend.least and self.turns_of(mend) == mend.passes

    def preference(self, mend: Mend) -> tuple[bool, int, bool, int, int]:
        """What mends that were proved are chosen by: a table comes last, and a view behind a longer pitch."""
        return mend.kind == "table", self.turns_of(mend), mend.kind in self.viewed, mend.bytes, mend.operations


class Diagnosis(Struct):
    """What the doctor says of one kernel; `patched` is the mended file, '' where nothing was mended.

    `example` says why all of it is said of one example of data only, '' where it is said of all. `not_run` are the
    lines with accesses to shared memory that no thread of the launch came to.
    """

    kernel: str
    launch: KernelLaunch | None = None
    accesses: list[LineAccess] = field(default_factory=list)
    arrays: list[ArrayFindings] = field(default_factory=list)
    verdict: Verdict = "clean"
    why: str = ""
    patched: str = ""
    example: str = ""
    not_run: tuple[int, ...] = ()


class Doctor:
    """Examines one kernel of one file."""

    def __init__(
        self, text: CudaText, kernel: str | None = None, launch: str | None = None, args: str | None = None
    ) -> None:
        self.kernel, self.instance = chosen_kernel(text, kernel)
        self.text = text = with_said_options(text, self.kernel)
        launch, args, said = flags_of(text, self.kernel, launch, args)
        self.arguments = arguments_of(text, self.kernel, args)
        self.flags = launch, said

    def _compiled(self, text: CudaText, added: Sequence[tuple[int, str]] = ()) -> str:
        """Return the PTX of this kernel in a text."""
        return compiled(text, chosen_kernel(text, self.kernel.name)[0], self.instance, added)

    def diagnose(self) -> Diagnosis:
        """Run the kernel, look for conflicts, and mend them. Raises SwizzleError where the launch does not fit."""
        found = Diagnosis(self.kernel.name)
        try:
            ran = self.ran = self._first_run()
        except Undecided as error:
            found.verdict, found.why = "undecided", str(error)
            return found
        found.launch, found.accesses = self.launch, by_line(ran)
        found.not_run = tuple(not_run(ran))
        found.arrays = arrays = self._arrays(ran, found.accesses)
        wrong = [each for each in arrays if each.passes > each.phases]
        found.example = self.by_data
        if ran.races:
            found.verdict, found.why = "race", ran.races[0]
            return found
        if not wrong:
            found.why = in_words(self.ptx, unwritten(ran))
            found.verdict = "undecided" if self.by_data or found.why else "clean"
            return found
        for each in wrong:
            self._look_for_mends(each)
        if self.by_data:
            found.verdict = "undecided"
            for each in wrong:
                each.open, each.why = True, each.why or "what the kernel does depends on data, so nothing is proved"
            return found
        self._mend(ran, found, [each for each in wrong if each.mends])
        if any(each.chosen for each in wrong):
            found.verdict = "mended"
        else:
            found.verdict = "undecided" if any(each.open for each in wrong) else "none"
        return found

    def _first_run(self) -> Ran:
        ptx = self.ptx = self._compiled(self.text)
        entry = entry_of(ptx, self.kernel, self.text.path, self.text.code)
        words, said = self.flags
        self.launch = launch_of(self.text, self.kernel, words, said, entry.most_threads)
        self.by_data = ""
        try:
            return self._run(entry)
        except NotInterpreted as error:
            why = in_source(ptx, str(error), instructions=True)
            if _BY_DATA.search(why):
                self.by_data = in_words(ptx, str(error))
                for below in _BELOW:
                    with suppress(NotInterpreted, SwizzleError):
                        return self._run(entry, example=True, below=below)
            raise Undecided(refusal(self.text.path, ptx, str(error))) from None

    def _run(self, entry: Kernel, *, example: bool = False, below: int = 64) -> Ran:
        """Run the kernel; where nothing says how large its dynamic shared memory is, with as much as it touches."""
        guessed = self.launch.dynamic == 0 and any(array.size == 0 for array in entry.arrays)
        try:
            if guessed:
                self.launch = replace(self.launch, dynamic=_MOST_DYNAMIC)
                seen = Inputs(self.arguments, self.launch, example=example, below=below).run(entry).seen
                name = next(array.name for array in entry.arrays if array.size == 0)
                most = max((int(each.offsets.max()) + each.size for each in seen if each.region == name), default=0)
                self.launch = replace(self.launch, dynamic=-(-most // 16) * 16, touched=True)
            self.inputs = Inputs(self.arguments, self.launch, example=example, below=below)
            ran = self.inputs.run(entry)
            return replace(ran, races=tuple(in_words(self.ptx, each) for each in ran.races))
        except Broken as error:
            if "by data, out of bounds" in str(error) and not example:
                raise NotInterpreted(f"{error}: it depends on data") from None
            line, colon, what = in_words(self.ptx, str(error)).partition(": ")
            known, number = line.removeprefix("line ").isdigit(), re.match(r"line (\d+): ", str(error))
            at, column = own_place(self.ptx, int(number[1])) if known and number else ("", "")
            place = Place(self.text.path, int(at), int(column)) if at else None
            expected, fix = self._remedy(error)
            raise SwizzleError(
                f"{self.kernel.name} cannot run like this: {what if known else line + colon + what}",
                place=place, expected=expected, fix=fix,
            ) from None  # fmt: skip

    def _remedy(self, error: Broken) -> tuple[str, str]:
        """Return what was expected where a kernel does what is undefined, and what to write instead."""
        if isinstance(error, Misaligned):
            name = own_name(error.region)
            own = [each.line for each in shared_arrays(self.text) if each.name == name]
            where = f"where {name} is declared (line {own[0]})" if own else f"to the declaration of {name}"
            expected = (
                f"an array that begins at a multiple of {error.size} bytes, as a vector of so many is moved at once"
            )
            return (
                expected,
                f"add __align__({error.size}) {where}: __shared__ __align__({error.size}) float {name}[...]",
            )
        given = {each.name for each in self.arguments}
        if isinstance(error, ReadOnly) and error.region in given:
            return (
                f"--args that say which arrays are written; {error.region} is not",
                "--args '...,f32.out[...],...' for it",
            )
        fix = "look at --launch and --args"
        if "out of bounds" in str(error) and not any(name in str(error) for name in given):
            fix += "; if they are right, the kernel is wrong there"
        return f"a launch that it is made for; it was {self.launch}", fix

    def _arrays(self, ran: Ran, accesses: Sequence[LineAccess]) -> list[ArrayFindings]:
        regions = list(dict.fromkeys(each.array for each in accesses if each.space == "shared"))
        others = [each for each in self.text.kernels() if each.begin != self.kernel.begin]
        declared = [
            array
            for array in shared_arrays(self.text)
            if array.dims and not any(each.begin <= array.at < each.end for each in others)
        ]
        tiles: dict[SharedArray, Tile] = {}
        if any(sum(a.passes() - len(a.phases()) for a in of_array(accesses, region)) for region in regions):
            with suppress(SwizzleError):  # where the question does not compile, there is no answer
                answers = self._compiled(self.text, questions(declared, self.kernel))
                tiles = tiles_of(answers, declared, self.launch.dynamic)
        sizes = {region.name: region.size for region in ran.machine.memory.regions}
        by_launch = [own_name(array.name) for array in ran.machine.kernel.arrays if array.size == 0]
        found = []
        for region in regions:
            mine, own = of_array(accesses, region), [array for array in declared if named(region, array)]
            same = len({self.text.text[slice(*each.statement)] for each in own}) == 1 and own[0].dynamic
            alone = len(own) == 1 or same  # of dynamic shared memory there is one for all functions
            array = own[0] if alone and not (own[0].dynamic and len(by_launch) > 1) else None
            tile = tiles.get(array) if array is not None else None
            if tile is None or tile.bytes != sizes[region]:
                array = None if tile is not None else array
                size = min(each.size for each in mine)
                tile = Tile((max(1, sizes[region] // size),), size, fixed=True)
                known = False
            else:
                known = True
            asked = asking(tile, mine)
            passes, phases = sum(each.passes() for each in mine), sum(len(each.phases()) for each in mine)
            least = sum(asked.least_of(each) for each in mine)
            name = array.name if array is not None else own_name(region)
            each = ArrayFindings(name, region, asked, array if known else None, passes, phases, least)
            if array is None and own and own[0].dynamic and len(by_launch) > 1:
                each.why = f"{' and '.join(by_launch)} are one place"
            elif len(own) > 1 and not same:
                each.why = f"there are {len(own)} arrays with the name {own[0].name}"
            found.append(each)
        return found

    def _look_for_mends(self, each: ArrayFindings) -> None:
        """Say of an array with conflicts what would mend it, and where nothing does, whether that is proved."""
        if each.array is None or each.asked.requests is None:
            each.open = True
            elsewhere = [
                f"{printable(header.path)}:{array.line}"
                for header in self.text.headers.values()
                for array in shared_arrays(header)
                if named(each.region, array)
            ]
            there = f"it is declared at {elsewhere[0]}, and only this file is patched" if elsewhere else ""
            each.why = each.why or there or each.asked.why or "its declaration is not understood"
            return
        each.mends = mends(each.asked)
        if not each.mends:
            least = each.asked.requests.forced if each.passes == each.least else ""
            whole = f" that keeps elements of {each.asked.tile.element} bytes whole" if each.asked.parts > 1 else ""
            others = "; an array for each part of an element may" if whole else ""
            least = f"no layout{whole} takes fewer turns{others}: {least}" if least else ""
            each.why = least or "none of the families takes fewer turns"

    # -- mending -----------------------------------------------------------------------------------------------------

    def _mend(self, ran: Ran, found: Diagnosis, wrong: list[ArrayFindings]) -> None:
        """Patch all arrays by their best mends that can be proved, together.

        Where a run is short, the other mends are proved as well; nothing rests on them.
        """
        all_of_them = sum(len(each.threads) for each in ran.seen) <= SHORT and not self.text.is_slow_to_compile
        texts: dict[str, str] = {}
        for each in wrong:
            patches: dict[Family, str] = {}
            for mend in each.mends:
                if each.chosen is not None and each.mended_passes == each.chosen.passes and not all_of_them:
                    break
                self._try(ran, each, mend, patches)
            if each.chosen is None or each.mended_passes > each.least:
                self._try_apart(ran, each, patches)
            if each.chosen is not None:
                texts[each.region] = patches[each.chosen.kind]
            each.open = each.chosen is None
            each.why = "" if each.chosen else each.why
        mended = {each.region: (each, each.chosen) for each in wrong if each.chosen is not None}
        if not mended:
            return
        if len(mended) == 1:
            found.patched = texts[next(iter(mended))]
            return
        why, new, turns = self._refused(ran, mended)
        if why:
            for each, _ in mended.values():
                each.chosen, each.proved, each.open, each.why = None, {}, True, f"together with the others: {why}"
            return
        for each, mend in mended.values():
            each.proved[mend.kind] = turns[each.region]
        found.patched = new

    def _try(self, ran: Ran, each: ArrayFindings, mend: Mend, patches: dict[Family, str]) -> None:
        """Try a mend as a patch, and choose it if it is the best so far; keep the patched text."""
        why, new, turns = self._refused(ran, {each.region: (each, mend)})
        if not why and turns[each.region] >= each.passes:
            why = f"the compiler makes {turns[each.region]} turns of it"
        if not why:
            each.proved[mend.kind] = turns[each.region]
        if not why and turns[each.region] + mend.waits >= each.passes:
            each.why = each.why or f"its table takes {mend.waits} turns itself"
        elif not why:
            patches[mend.kind] = new
            each.chosen = min((each.chosen or mend, mend), key=each.preference)
        else:
            each.refused.add(mend.kind)
            each.why = each.why or why

    def _try_apart(self, ran: Ran, each: ArrayFindings, patches: dict[Family, str]) -> None:
        """Try the best layout that takes the compiler's vectors apart, and choose it where it takes fewer turns."""
        for mend in mends_apart(each.asked)[:1]:
            why, new, turns = self._refused(ran, {each.region: (each, mend)})
            if why or turns[each.region] >= min(each.mended_passes, each.passes):
                continue
            each.mends = sorted([mend, *(m for m in each.mends if m.kind != mend.kind)], key=lambda m: m.cost)
            each.refused.discard(mend.kind)
            each.proved[mend.kind], patches[mend.kind], each.chosen = turns[each.region], new, mend

    def _refused(self, ran: Ran, mended: dict[str, tuple[ArrayFindings, Mend]]) -> tuple[str, str, dict[str, int]]:
        """Return why a patch is not proved, '' where it is; the patched text, and the turns of each array in it."""
        arrays = {each.array: mend for each, mend in mended.values() if each.array is not None}
        tiles = {name: (each.asked.tile, mend) for name, (each, mend) in mended.items()}
        first, turns, new = "", dict[str, int](), ""
        for views in (False, True):
            try:
                for array in arrays:
                    check_own(self.text, array, self.kernel)
                new = patched(self.text, self.kernel, arrays, touched=self.launch.touched, views=views)
            except SwizzleError as error:
                found = (f"line {error.place.line}: " if error.place else "") + error.found
                first = f"{first}; as a view: {found}" if first and found != first else first or found
                continue
            cells = {}
            if views:
                cells = {
                    r: view_cells(self.text, e.array)
                    for r, (e, m) in mended.items()
                    if e.array and not is_pitch(m.layout)
                }
            why, turns = self.proved(ran, new, tiles, cells)
            why = why or self._other_kernel(new)
            if not why:
                for each, mend in mended.values():
                    each.viewed |= {mend.kind} if views and not is_pitch(mend.layout) else set()
                return "", new, turns
            first = f"{first}; as a view: {why}" if first and views else first or why
            if not any(in_macros(self.text, each) for each in arrays):
                break
        return first, new, turns

    def _other_kernel(self, new: str) -> str:
        """Return why a patched text may change another kernel, whose functions became templates, '' where it does not:
        its code is what it was."""
        text = self.text.altered(new)
        now = {text.text[f.begin : f.end] for f in text.device_functions()}
        changed = {f.name for f in self.text.device_functions() if self.text.text[f.begin : f.end] not in now}
        begins = [each.begin for each in self.text.kernels()]
        for other in self.text.others_with(changed, self.kernel) if changed else ():
            found = set()
            for each in (self.text, text):
                kernel = each.kernels()[begins.index(other.begin)]
                try:
                    found.add("" if other.template else code_of(compiled(each, kernel)))
                except SwizzleError:
                    found.add("")
            if len(found) > 1 or "" in found:
                return f"{other.name} uses what the patch makes a template, and is not shown to be what it was"
        return ""

    def proved(
        self, before: Ran, new: str, mended: Mapping[str, tuple[Tile, Mend]], cells: Mapping[str, str] = {}
    ) -> tuple[str, dict[str, int]]:
        """Compile and run a patched text again; return why it is not the kernel that it was, '' where it is, and the
        turns that each array takes then. `cells` has the new names of arrays that became views."""
        if why := unwritten(before):
            return in_words(self.ptx, why), {}
        text = self.text.altered(new)
        try:
            ptx = self._compiled(text)
            after = self.inputs.run(entry_of(ptx, self.kernel))
        except (Undecided, SwizzleError) as error:
            return f"the patched kernel: {error.found if isinstance(error, SwizzleError) else error}", {}
        except (NotInterpreted, Broken) as error:
            return f"the patched kernel: {in_words(ptx, str(error))}", {}
        known = {region.name for region in before.machine.memory.regions}
        fresh = [region.name for region in after.machine.memory.regions if region.name not in known]
        renamed = {name: next((each for each in fresh if own_name(each) == cells[name]), name) for name in cells}
        after = replace(after, seen=tuple(_called(each, renamed) for each in after.seen))
        turns = {name: sum(each.passes() for each in of_array(by_line(after), name)) for name in mended}
        return in_words(ptx, why_not(before, after, mended)), turns


def _called(seen: Seen, renamed: Mapping[str, str]) -> Seen:
    """Return an access of an array that has another name now as one of the name that it had."""
    return next((replace(seen, region=old) for old, new in renamed.items() if seen.region == new), seen)
