"""What kind of instruction each is, and which registers it takes part in: facts of Thumb code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from tinyrt.emulate.cycles.disassembly import Instruction
from tinyrt.errors import UnsupportedError

LOADS = ("load", "load_literal")
"""Loads of one word or less, which others may overlap."""

STORES = ("store", "store_indexed")
ACCESSES = (*LOADS, *STORES, "load_double", "store_double", "load_multiple", "store_multiple")
FLOAT_RESULTS = ("float_alu", "float_accumulate", "float_divide")

_NAMES = (
    ("it", r"it[te]{0,3}"),
    ("branch", r"b|b(eq|ne|cs|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le|hs|lo)|cbn?z"),
    ("call", r"bl"),
    ("call_register", r"blx(ns)?"),
    ("jump", r"bx(ns)?"),
    ("table_branch", r"tb[bh]"),
    ("loop_start", r"[dw]ls(tp)?"),
    ("loop_end", r"le(tp)?"),
    ("load_double", r"ldrd"),
    ("store_double", r"strd"),
    ("load_multiple", r"ldm(ia|db|fd|ea)?|pop"),
    ("store_multiple", r"stm(ia|db|fd|ea)?|push"),
    ("load", r"ldrs?[bh]?t?|ldrex[bh]?|ldaex?[bh]?"),
    ("store", r"str[bh]?t?|strex[bh]?|stlex?[bh]?"),
    ("divide", r"[su]div"),
    ("multiply", r"muls?|smul[bt][bt]|smulw[bt]|smu[as]dx?|smmulr?"),
    ("multiply_accumulate", r"ml[as]|smla[btw][bt]|sml[as]dx?|smml[as]r?"),
    ("long_multiply", r"[su]mull"),
    ("long_multiply_accumulate", r"[su]mlal|smlal[bt][bt]|sml[as]ldx?|umaal"),
    ("hint", r"nop|yield|sev|wf[ei]|lctp|pli|pldw?"),
    ("barrier", r"[di][ms]b|sg|clrex"),
    ("system", r"mrs|msr|cps(i[de])?|svc|bkpt|vmrs|vmsr"),
    ("alu", r"(add|sub|rsb|adc|sbc|and|orr|orn|eor|bic|mov|mvn|lsl|lsr|asr|ror|rrx|neg)s?"),
    ("alu", r"addw|subw|adr|movw|movt|cmp|cmn|tst|teq|cpy|clz|rbit|rev(16|sh)?|bf[ic]|[su]bfx"),
    ("alu", r"[su]xta?(b|h|b16)|pkh(bt|tb)|sel|usada?8|[su]sat(16)?|qd?(add|sub)"),
    ("alu", r"([su]|[su]h|u?q)(add|sub)(8|16)|([su]|[su]h|u?q)(asx|sax)"),
    ("alu", r"cs(el|inc|inv|neg|etm?)|cin[cv]|cneg|asrl|ls[lr]l|[su]q?r?sh[lr]l?"),
    ("float_divide", r"vdiv|vsqrt"),
    ("float_accumulate", r"vfn?m[as]|vn?ml[as]"),
    ("float_load", r"vldr"),
    ("float_store", r"vstr"),
    ("float_load_multiple", r"vldm(ia|db)?|vpop"),
    ("float_store_multiple", r"vstm(ia|db)?|vpush"),
    (
        "float_alu",
        r"v(add|sub|n?mul|abs|neg|cmpe?|cvt[abmnprt]?|mov|m(ax|in)nm|rint[amnprxz]|sel\w\w)",
    ),
)
"""In their order: what the whole name matches first decides."""

_VECTORS = (
    ("vector_predicate", r"vp[st]t?[te]{0,3}|vpst|vctp|vpnot|vpsel|vpt[te]{0,3}"),
    ("vector_gather", r"v(ldr|str)[bhwd][te]?", r"\[[^]]*\bq"),
    ("vector_load", r"v(ldr|ld[24])\w*"),
    ("vector_store", r"v(str|st[24])\w*"),
    ("vector_multiply", r"v(r?mul|q?r?d?mul|ml|q?r?dml|fm|rml|cmul|cmla|mull)\w*"),
)
"""Of instructions on vectors, likewise; all others are ``vector_alu``."""

_PATTERNS = tuple((kind, re.compile(pattern)) for kind, pattern in _NAMES)
_REGISTER = re.compile(r"\b(r1[0-5]|r[0-9]|sl|fp|ip|sp|lr|pc|[sdq][0-9]{1,2})\b")
_OTHER_NAMES = {"sl": "r10", "fp": "r11", "ip": "r12", "sp": "r13", "lr": "r14", "pc": "r15"}
_PC = "r15"
_INDEXED = re.compile(r"\[\w+, *(r|sl|fp|ip)")
_VECTOR = re.compile(r"\bq[0-7]\b|\bp0\b")
_ALWAYS_VECTOR = re.compile(r"vp(st|t|not)|vctp|v(ldr|str)[bhwd]|v(ld|st)[24]")


@dataclass(frozen=True, slots=True)
class Facts:
    """What the timing of an instruction depends on.

    Attributes:
        kind: a name that tables of cycles have.
        registers: how many words it moves; 0 where it moves no list.
        result: registers that it writes; of a load what is loaded.
        address: registers that its address is made of.
        sources: registers that it reads, those of the address included.
        base_moves: whether it changes the register of its address, too.

    """

    kind: str
    registers: int = 0
    result: frozenset[str] = frozenset()
    address: frozenset[str] = frozenset()
    sources: frozenset[str] = frozenset()
    base_moves: bool = False

    @property
    def goes_on(self) -> bool:
        """Whether the next instruction in memory is always the next one."""
        return self.kind not in BRANCHES and not self.writes_pc

    @property
    def writes_pc(self) -> bool:
        """Whether it jumps by what it computes or loads."""
        return _PC in self.result


FIXED = ("branch", "call", "loop_start", "loop_end")
"""Jumps to a place that stands in the instruction."""

BRANCHES = (
    *("branch", "call", "call_register", "jump", "table_branch", "loop_start", "loop_end"),
    *("write_pc", "load_pc"),
)


def facts_of(instruction: Instruction) -> Facts:
    """What the timing of an instruction depends on.

    Raises:
        UnsupportedError: nobody told which kind it is.

    """
    facts = _facts(instruction.name, instruction.operands)
    if facts is None:
        raise UnsupportedError(
            f"nobody knows how many cycles '{instruction}' at {instruction.address:#x} takes",
            expected="an instruction that compilers write for models",
            hint="leave --cycles out; instructions are counted without",
        )
    return facts


@cache
def _facts(name: str, operands: str) -> Facts | None:
    """The same wherever an instruction stands; None where nobody told which kind it is."""
    kind = _kind(name, operands)
    if kind is None:
        return None
    if kind in ("load_multiple", "store_multiple") or kind.endswith("_load_multiple"):
        return _list_facts(kind, operands)
    if kind == "float_store_multiple":
        return Facts(kind, _words(operands))
    head, bracket, inside = operands.partition("[")
    named = _named(head)
    if bracket:
        address = frozenset(_named(inside.partition("]")[0]))
        moves = bool(inside.partition("]")[2].strip(" ,"))
        is_load = "load" in kind or kind == "vector_gather"
        result = frozenset(named if is_load else ())
        sources = address if is_load else address | frozenset(named)
        if kind == "load" and _PC in result:
            return Facts("load_pc", 0, result, address, sources)
        if kind == "load" and address == {_PC}:
            kind = "load_literal"
        if kind == "store" and _INDEXED.search(operands):
            kind = "store_indexed"
        words = 2 if kind in ("load_double", "store_double") else _float_words(kind, named)
        return Facts(kind, words, result, address, sources, moves)
    writes = 2 if kind.startswith("long_multiply") else 1
    compares = name in ("cmp", "cmn", "tst", "teq", "vcmp", "vcmpe")
    result = frozenset(() if compares or kind in BRANCHES else named[:writes])
    if kind == "alu" and _PC in result:
        kind = "write_pc"
    return Facts(kind, 0, result, frozenset(), frozenset(named if compares else named[1:] or named))


def may_pass(instruction: Instruction) -> bool:
    """Whether control may go on behind the instruction: a condition, or the end of a loop."""
    facts = facts_of(instruction)
    is_conditional = facts.kind == "branch" and instruction.name != "b"
    is_loop = facts.kind in ("loop_start", "loop_end")
    return facts.goes_on or instruction.conditional or is_conditional or is_loop


def _kind(name: str, operands: str) -> str | None:
    if _ALWAYS_VECTOR.match(name) or (name.startswith("v") and _VECTOR.search(operands)):
        for kind, pattern, *inside in _VECTORS:
            if re.fullmatch(pattern, name) and all(re.search(p, operands) for p in inside):
                return kind
        return "vector_alu"
    for kind, pattern_ in _PATTERNS:
        if pattern_.fullmatch(name):
            return kind
    return None


def _list_facts(kind: str, operands: str) -> Facts:
    """Of loads and stores of a list of registers."""
    listed = _expanded(operands)
    base, _, _ = operands.partition("{")
    address = frozenset(_named(base)) or frozenset(("r13",))
    result = frozenset(listed) if "load" in kind else frozenset()
    words = _words(operands)
    return Facts(kind, words, result, address, address | frozenset(listed) - result, True)


def _named(text: str) -> list[str]:
    """Registers in their order, under one name each."""
    return [_OTHER_NAMES.get(name, name) for name in _REGISTER.findall(text)]


def _expanded(operands: str) -> list[str]:
    """The registers of a list such as ``{r4-r7, lr}``."""
    names = []
    for part in operands.partition("{")[2].partition("}")[0].split(","):
        ends = _named(part)
        if len(ends) == 2:
            letter, first, last = ends[0][0], int(ends[0][1:]), int(ends[1][1:])
            names += [f"{letter}{number}" for number in range(first, last + 1)]
        else:
            names += ends
    return names


def _words(operands: str) -> int:
    """Words that a list of registers has."""
    return sum(2 if name.startswith("d") else 1 for name in _expanded(operands))


def _float_words(kind: str, named: list[str]) -> int:
    """Words beyond one of a load or store of a float register."""
    return int(kind.startswith("float") and any(name.startswith("d") for name in named))
