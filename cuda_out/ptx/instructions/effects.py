"""The forms of what is no function of its operands: moves, memory, other threads, barriers, branches.

What they do stands in `cuda_out.ptx.running`, which runs them.
"""

from __future__ import annotations

from typing import Final

from cuda_out.ptx.instructions.operation import Forms

_SPACE: Final = r"(?:\.(?P<space>global|shared|local|const))?"
_LEVELS: Final = r"(?:\.L1::\w+)?(?:\.L2::evict_\w+)?(?P<policy>\.L2::cache_hint)?(?:\.L2::(?:64|128|256)B)?"
"""What a cache is told, which changes no value."""
_ATOMIC: Final = r"(?:\.(?:relaxed|acquire|release|acq_rel))?(?:\.(?:cta|gpu|sys))?(?:\.(?P<space>global|shared))?"
_COPY: Final = "in_shared in_global literal|in_shared in_global literal b32"
_MATRIX: Final = (
    r"\.sync\.aligned(?=(?:\.\w+)*\.m8n8\b)(?:\.m8n8)?(?P<vector>\.x[124])(?:\.trans|\.m8n8)*"
    r"\.shared(?:::cta)?\.(?P<t>b16)"
)
"""ptxas takes the shape and the number of matrices in any order, CUTLASS's among them."""
_WMMA: Final = r"\.sync\.aligned\.(?:row|col)\.m\d+n\d+k\d+(?:\.(?P<space>global|shared)(?:::cta)?)?\.\w+"
_VALUE: Final = r"(?P<vector>\.v2|\.v4)?\.(?P<t>[bus](?:8|16|32|64)|f32|f64)"
_LOADED: Final = "=loaded address|=loaded address b64"
_STORED: Final = "address stored|address stored b64"

AS_BITS: Final = {"f16x2": "b32", "bf16x2": "b32", "bf16": "b16"}
"""What registers and memory hold of types that are none of their own."""
EFFECTS: Final[Forms] = (
    (r"mov\.(?P<t>pred|[bus](?:16|32|64)|f32|f64)", "=moved moved"),
    (r"cvta\.(?P<space>global|shared|local|const)\.(?P<t>u64)", "=t variable"),
    (r"cvta\.to\.(?P<space>global|shared|local|const)\.(?P<t>u64)", "=t t"),
    (rf"ld(?:\.weak|\.volatile)?{_SPACE}(?:\.c[agsv]|\.lu)?{_LEVELS}{_VALUE}", _LOADED),
    (rf"ld\.(?P<space>global)(?:\.c[ags])?\.nc{_LEVELS}{_VALUE}", _LOADED),
    (r"ld\.(?P<space>param)(?P<vector>\.v2|\.v4)?\.(?P<t>[bus](?:8|16|32|64)|f32|f64)", "=loaded address"),
    (rf"st(?:\.weak|\.volatile)?{_SPACE}(?:\.c[gs]|\.w[bt])?{_LEVELS}{_VALUE}", _STORED),
    (r"st\.(?P<space>param)\.(?P<t>[bus](?:8|16|32|64)|f32|f64)", "address stored"),
    (rf"atom{_ATOMIC}\.add\.(?P<t>[us](?:32|64)|f32|f64)", "=t address t"),
    (rf"atom{_ATOMIC}\.(?:min|max)\.(?P<t>[us](?:32|64))", "=t address t"),
    (rf"atom{_ATOMIC}\.(?:and|or|xor)\.(?P<t>b(?:32|64))", "=t address t"),
    (rf"atom{_ATOMIC}\.add\.noftz\.(?:(?P<t>f16)|(?P<bits>f16x2|bf16x2|bf16))", "=t address t"),
    (rf"red{_ATOMIC}\.add\.noftz\.(?:(?P<t>f16)|(?P<bits>f16x2|bf16x2|bf16))", "address t"),
    (rf"atom{_ATOMIC}\.cas\.(?P<t>b(?:32|64))", "=t address t t"),
    (rf"atom{_ATOMIC}\.exch\.(?P<t>b(?:32|64))", "=t address t"),
    (rf"atom{_ATOMIC}\.(?:inc|dec)\.(?P<t>u32)", "=t address t"),
    (rf"red{_ATOMIC}\.(?:inc|dec)\.(?P<t>u32)", "address t"),
    (rf"red{_ATOMIC}\.add\.(?P<t>[us](?:32|64)|f32|f64)", "address t"),
    (rf"red{_ATOMIC}\.(?:min|max)\.(?P<t>[us](?:32|64))", "address t"),
    (rf"red{_ATOMIC}\.(?:and|or|xor)\.(?P<t>b(?:32|64))", "address t"),
    (r"shfl\.sync\.(?:up|down|bfly|idx)\.(?P<t>b32)", "=t t u32 u32 u32|=t =pred t u32 u32 u32"),
    (r"vote\.sync\.ballot\.(?P<t>b32)", "=t condition u32"),
    (r"vote\.sync\.(?:all|any|uni)\.(?P<t>pred)", "=t condition u32"),
    (r"match\.any\.sync\.(?P<t>b(?:32|64))", "=b32 t u32"),
    (r"match\.all\.sync\.(?P<t>b(?:32|64))", "=b32 t u32|=b32 =pred t u32"),
    (r"redux\.sync\.(?:add|min|max)\.(?P<t>[us]32)", "=t t u32"),
    (r"redux\.sync\.(?:and|or|xor)\.(?P<t>b32)", "=t t u32"),
    (r"activemask\.(?P<t>b32)", "=t"),
    (r"(?:bar|barrier)(?:\.cta)?\.sync(?:\.aligned)?", "u32|u32 u32"),
    (r"(?:bar|barrier)(?:\.cta)?\.red\.(?:and|or)(?:\.aligned)?\.pred", "=pred u32 condition|=pred u32 u32 condition"),
    (r"(?:bar|barrier)(?:\.cta)?\.red\.popc(?:\.aligned)?\.u32", "=u32 u32 condition|=u32 u32 u32 condition"),
    (r"bar\.warp\.sync", "u32"),
    (r"cp\.async\.c[ag]\.shared(?:::cta)?\.global(?:\.L2::(?:64|128|256)B)?", _COPY),
    (r"cp\.async\.(?:commit_group|wait_all)", ""),
    (r"cp\.async\.wait_group", "literal"),
    (rf"ldmatrix{_MATRIX}", "=pieces in_shared"),
    (rf"stmatrix{_MATRIX}", "in_shared pieces"),
    (r"movmatrix\.sync\.aligned\.m8n8\.trans\.(?P<t>b16)", "=b32 b32"),
    (r"mma\.sync\.aligned\.m\d+n8k\d+\.row\.col(?:\.rn|\.satfinite)?\.(?P<t>\w+)\.\w+\.\w+\.\w+", "fragments"),
    (rf"wmma\.load\.[abc]{_WMMA}", "=fragment address|=fragment address u32"),
    (rf"wmma\.store\.d{_WMMA}", "address fragment|address fragment u32"),
    (r"wmma\.mma\.sync\.aligned(?:\.(?:row|col)){2}\.m\d+n\d+k\d+(?:\.rn)?\.(?P<t>\w+)(?:\.\w+)+", "fragments"),
    (r"membar\.(?:cta|gl|sys)", ""),
    (r"fence\.(?:sc|acq_rel)\.(?:cta|gpu|sys)", ""),
    (r"nanosleep\.u32", "u32"),
    (r"prefetchu?\.(?:global|local)?\.?L[12](?:::evict_\w+)?", "address"),
    (r"bra(?:\.uni)?", "label"),
    (r"ret(?:\.uni)?", ""),
    (r"exit|trap", ""),
    (r"call(?:\.uni)?", "call"),
)  # fmt: skip
