"""Results as tables for people; the JSON of ``--json`` is built beside the commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tinyrt.decibels import shown_db
from tinyrt.text import clean

if TYPE_CHECKING:
    from tinyrt.api import Inspection
    from tinyrt.interpreter.profile import OpTime
    from tinyrt.ir import RewriteLog

BAR_WIDTH = 16
MAX_NAME = 72
"""Characters of a name in a list."""
MAX_LINES = 8
"""Tensors, segments and the like that a list shows."""
TINY = 1e-3
"""Figures below have an exponent."""
MAX_OPS = 40
"""Ops that a table shows whole; of more, those at both ends and the most costly ones."""


def named(name: str) -> str:
    """A name from a file, as tables show it."""
    return clean(name, MAX_NAME)


def facts(rows: Mapping[str, object]) -> Table:
    """A table of two columns: name and value."""
    table = Table(box=box.SIMPLE, show_header=False)
    table.add_column(style="cyan")
    table.add_column(justify="right")
    for name, value in rows.items():
        table.add_row(name, number(value))
    return table


def explained(log: RewriteLog) -> dict[str, object]:
    """What the passes applied and refused, for ``--json``."""
    applied = [
        {"pass": rule, "op": node, **({"reason": why} if (why := _reason(log, rule, node)) else {})}
        for rule, node in log.applied
    ]
    refusals = [
        {"pass": rule, "op": node, "reason": reason}
        for (rule, node), reason in log.final_refusals().items()
    ]
    return {"applied": applied, "refused": refusals}


def passes(log: RewriteLog) -> Group:
    """What the passes applied, in order, and what they refused, with the reasons."""
    applied = Table(title="applied", box=box.SIMPLE, title_justify="left")
    for column in ("pass", "op", "reason") if log.reasons else ("pass", "op"):
        applied.add_column(column)
    for rule, node in log.applied:
        applied.add_row(*filter(None, (rule, named(node), _reason(log, rule, node))))
    refusals = Table(title="refused", box=box.SIMPLE, title_justify="left")
    for column in ("pass", "op", "reason"):
        refusals.add_column(column)
    for (rule, node), reason in log.final_refusals().items():
        refusals.add_row(rule, named(node), reason)
    return Group(applied, refusals)


def _reason(log: RewriteLog, rule: str, node: str) -> str:
    """Why a pass was applied; empty where that shows."""
    return log.reasons.get((rule, node), "")


def number(value: object) -> str:
    """A value as people read it: thousands separated, fractions short."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "NO", None: "-"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if 0 < abs(value) < TINY:
            return f"{value:.1e}"
        return f"{value:,.2f}" if abs(value) >= 1 else f"{value:.4f}"
    if isinstance(value, Mapping):  # of tensors, regions and the like by their names
        few = list(value.items())[:MAX_LINES]
        lines = [f"{named(name)} {_entry(entry)}" for name, entry in few]
        more = [f"and {len(value) - len(few)} more"] if len(value) > len(few) else []
        return "\n".join([*lines, *more])
    return str(value)


def _entry(value: object) -> str:
    """What stands behind a name: a shape, a list, more names, or a figure."""
    if isinstance(value, Mapping):
        return ", ".join(f"{named(str(name))} {_entry(entry)}" for name, entry in value.items())
    if isinstance(value, list | tuple):
        sizes = all(isinstance(entry, int) for entry in value)
        return (" × " if sizes else ", ").join(map(str, value))
    return number(value)


def layer(name: str) -> str:
    """A layer's name, whole: it is what ``--scheme-for`` and ``--keep-float`` are told."""
    return clean(name)


def decibels(db: float | None, places: int = 2) -> str:
    """A distance in dB; two signals without any difference have none that is finite."""
    return "-" if db is None else shown_db(db, places)


def percent(fraction: float | None) -> str:
    """A fraction in percent."""
    return "-" if fraction is None else f"{100 * fraction:.2f} %"


def inspection(report: Inspection, whole: bool = False) -> RenderableType:
    """Ops with their cost, and the arena's use at each: a few of each kind, or all of them."""
    from tinyrt.cli.arena_map import arena_map

    most = None if whole else MAX_LINES
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("#", "op", "output", "MACs", "arena", "arena use"):
        right = column in ("#", "MACs", "arena")
        table.add_column(column, justify="right" if right else "left", no_wrap=column == "output")
    indices = range(len(report.ops)) if whole else _telling(report)
    for before, i in zip([-1, *indices], indices, strict=False):
        if i > before + 1:
            table.add_row("", f"({i - before - 1} more)")
        op, output = report.ops[i], report.graph.bind(i).output
        bar = Text("█" * _share(op.arena_bytes, report.arena_bytes), style="green")
        row = (str(i), op.op, str(output.type), number(op.macs), number(op.arena_bytes), bar)
        table.add_row(*row)
    totals = {
        "MACs": report.macs,
        "weight bytes": report.weight_bytes,
        # Only on request: to know it takes the host's own kernels, which are slow to import.
        **({"packed again on the host": report.packed_bytes} if whole else {}),
        "arena bytes": report.arena_bytes,
        **arena_bound(report.plan.arena_bytes, report.plan.lower_bound, bool(report.plan.segments)),
    }
    parts: list[RenderableType] = [_ports(report, most), table]
    if len(indices) < len(report.ops):
        parts.append(Text("  Ops at both ends and the most costly ones; --all shows all of them."))
    parts += [facts(totals), arena_map(report.plan, len(report.ops)), _peak(report, most)]
    return Group(*parts, *_segments(report, most), *_placement(report, most))


def _telling(report: Inspection) -> list[int]:
    """Ops that a short table shows: at both ends, at the peak, and the most costly ones."""
    numbers = range(len(report.ops))
    if len(numbers) <= MAX_OPS:
        return list(numbers)
    few = MAX_OPS // 4
    by_macs = sorted(numbers, key=lambda i: -report.ops[i].macs)[: 2 * few]
    by_arena = sorted(numbers, key=lambda i: -report.ops[i].arena_bytes)[:few]
    ends = (*numbers[: few // 2], *numbers[-(few // 2) :])
    return sorted({*ends, *by_macs, *by_arena})


def _ports(report: Inspection, most: int | None) -> RenderableType:
    """Inputs and outputs with their types."""
    table = facts({})
    for kind, values in (
        ("input ", report.graph.input_values),
        ("output", report.graph.output_values),
    ):
        for v in values[:most]:
            table.add_row(f"{kind} {named(v.name)}", f"{v.type}{_quant(v.q)}")
        _add_rest(table, len(values), most)
    return table


def _add_rest(table: Table, count: int, most: int | None) -> None:
    """A row that says how many are not shown."""
    if most is not None and count > most:
        table.add_row(f"and {count - most} more", "")


def _placement(report: Inspection, most: int | None) -> list[RenderableType]:
    """Which ops run on a GPU, and which on the CPU between them."""
    lines = [Text(f"    {segment.describe()}") for segment in report.placement[:most]]
    if len(lines) < len(report.placement):
        lines.append(Text(f"    and {len(report.placement) - len(lines)} more"))
    return [Text("  Where ops run with --backend cuda --allow-fallback:"), *lines] if lines else []


def _segments(report: Inspection, most: int | None) -> list[RenderableType]:
    """Which ops run row by row, and how many rows of each tensor are held."""
    blocks: list[RenderableType] = []
    for segment in report.plan.segments[:most]:
        table = facts({})
        for ring in segment.images[:most]:
            rows = f"{ring.rows} of {report.graph.value(ring.value).shape[1]} rows"
            table.add_row(named(ring.value), rows)
        _add_rest(table, len(segment.images), most)
        title = f"  Ops {segment.first} to {segment.stop - 1} run row by row and hold:"
        blocks.append(Group(Text(title), table))
    if len(blocks) < len(report.plan.segments):
        blocks.append(Text(f"  and {len(report.plan.segments) - len(blocks)} more segments"))
    return blocks


def _peak(report: Inspection, most: int | None) -> RenderableType:
    """Which op makes the peak, and with which tensors."""
    moment = report.plan.fullest()
    step = moment.node
    where = f"op #{step} {report.ops[step].op}" if step < len(report.ops) else "the start"
    table = facts({})
    for name, nbytes in moment.sizes[:most]:
        table.add_row(named(name), f"{nbytes:,}")
    _add_rest(table, len(moment.sizes), most)
    blocks: list[RenderableType] = [
        Text(f"  The arena is fullest at {where}, which keeps:"),
        table,
    ]
    if report.advice:
        ways = {advice.what: advice.arena_bytes for advice in report.advice}
        blocks += [
            Text("  What would make it smaller, and about how many bytes it then has:"),
            facts(ways),
        ]
    return Group(*blocks)


def arena_bound(nbytes: int, bound: int, by_rows: bool) -> dict[str, object]:
    """The lower bound of any arena plan, and the part of it by which this plan is larger.

    Where ops run row by row, the bound is that of the chosen order of rows.
    """
    gap = (nbytes - bound) / bound if bound else 0.0
    what = "this order of rows cannot" if by_rows else "no plan can"
    return {f"of these, {what} do without": bound, "gap to that bound": percent(gap)}


def _share(part: int, whole: int) -> int:
    return max(1, round(BAR_WIDTH * part / whole))


def _quant(q: object) -> str:
    scale, zero_point = getattr(q, "scales", None), getattr(q, "zero_point", None)
    return f"  scale {scale[0]:.6g}, zero point {zero_point}" if scale else ""


def op_table(rows: Sequence[Mapping[str, str]]) -> RenderableType:
    """Which backend has which op, and for which dtypes: a table for each way of quantising.

    An op has one line where all backends have the same dtypes, and otherwise one for each set.
    """
    blocks: list[RenderableType] = []
    backends = [name for name in rows[0] if name not in ("op", "quantisation", "gradient")]
    for family in dict.fromkeys(row["quantisation"] for row in rows):
        table = Table(
            box=box.SIMPLE_HEAD, title=f"quantised: {family}", title_justify="left", pad_edge=False
        )
        for column in ("op", "dtypes", "on", "trained"):
            table.add_column(column, overflow="fold", no_wrap=column == "op")
        for row in (row for row in rows if row["quantisation"] == family):
            dtypes = dict.fromkeys(row[backend] for backend in backends)
            for i, text in enumerate(dtypes):
                having = ", ".join(name for name in backends if row[name] == text)
                trained = "yes" if row["gradient"] != "-" else "-"
                table.add_row(
                    *((row["op"], text, having, trained) if not i else ("", text, having, ""))
                )
        blocks.append(table)
    return Group(*blocks)


def profile(times: Sequence[OpTime]) -> Table:
    """Where the time goes, op by op."""
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("#", "op", "µs", "share", "GMAC/s"):
        table.add_column(column, justify="left" if column == "op" else "right")
    for t in times:
        speed = f"{t.macs / t.microseconds / 1e3:.1f}" if t.macs else "-"
        row = (str(t.index), t.op, f"{t.microseconds:,.1f}", percent(t.share), speed)
        table.add_row(*row)
    return table
