"""What an emulated core and a board cost and answer, as tables for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table

from tinyrt.cli.tables import facts, named, number, percent

if TYPE_CHECKING:
    from tinyrt.board import ValidationReport
    from tinyrt.emulate import EmulationReport, OpCost
    from tinyrt.emulate.cycles import CycleReport
    from tinyrt.emulate.report import SlicesRun
    from tinyrt.export.slices import Slices


def emulation(report: EmulationReport) -> RenderableType:
    """What a model costs on an emulated core, and whether it answered what the host answers."""
    flash, ram = report.flash, report.ram
    peer = report.baseline
    rows = {
        "core": f"{report.core} ({report.board or 'this machine'})",
        "samples": report.samples,
        "bit-exact with the host": report.bit_exact,
        **({} if report.float_error is None else {"greatest float error": report.float_error}),
        "instructions per inference": report.instructions,
        **({} if report.slices is None else slices(report.slices.plan, report.slices)),
        **({} if report.cycles is None else cycles(report.cycles)),
        "instructions per MAC": report.instructions_per_mac,
        **({"  of TFLM + CMSIS-NN": percent((report.instructions or 0) / peer)} if peer else {}),
        "flash, code bytes": flash.code,
        "  of these, kernels": flash.kernels,
        "  the model's calls": flash.model,
        "  its parameters and tables": flash.tables,
        "  the C library's part": flash.library,
        "flash, weight bytes": flash.weights,
        "  of these, filters": report.filter_bytes,
        "RAM, arena bytes": ram.arena,
        **({"  ops row by row": ", ".join(report.row_by_row)} if report.row_by_row else {}),
        **({"RAM, state bytes": ram.state} if ram.state else {}),
        "RAM, stack bytes": ram.stack,
        "  at most, as compiled": ram.stack_bound,
        "RAM, static bytes": ram.static,
    }
    return facts(rows) if report.ops is None else Group(costs(report.ops), facts(rows))


def emulations(reports: Mapping[str, EmulationReport]) -> RenderableType:
    """Several models of one image, one column for each; flash and static RAM are the image's."""
    table = Table(box=box.SIMPLE_HEAD)
    names = list(map(named, reports))
    for column in ("", *names):
        table.add_column(column, justify="right" if column else "left")
    rows: dict[str, list[object]] = {
        "core": [f"{r.core} ({r.board or 'this machine'})" for r in reports.values()],
        "samples": [r.samples for r in reports.values()],
        "bit-exact with the host": [r.bit_exact for r in reports.values()],
        "greatest float error": [r.float_error for r in reports.values()],
        "instructions per inference": [r.instructions for r in reports.values()],
        "instructions per MAC": [r.instructions_per_mac for r in reports.values()],
        "slices": [r.slices and r.slices.plan.count for r in reports.values()],
        "RAM, arena bytes": [r.ram.arena for r in reports.values()],
        "RAM, state bytes": [r.ram.state for r in reports.values()],
        "RAM, stack bytes": [r.ram.stack for r in reports.values()],
        "  at most, as compiled": [r.ram.stack_bound for r in reports.values()],
        "image, code bytes": [r.flash.code for r in reports.values()],
        "image, weight bytes": [r.flash.weights for r in reports.values()],
        "image, static RAM bytes": [r.ram.static for r in reports.values()],
    }
    for name, figures in rows.items():
        table.add_row(name, *map(number, figures))
    return table


def validation(
    report: ValidationReport, more: Mapping[str, object] | None = None
) -> RenderableType:
    """Whether a board answered what the host answers, how long it took, and more rows."""
    board, ticks, first = report.identity, report.ticks, report.difference
    rows: dict[str, object] = {
        "port": report.port,
        "export": f"{board.export}, tinyrt {board.tinyrt_version}",
        "samples": report.samples,
        "answered as on the host": report.equal,
        "all of them": report.difference is None,
    }
    if report.selftest is not None:
        rows["self-test"] = report.passed
    if report.selftest is not None and not report.passed:
        test = report.selftest
        rows |= {name: test[name] for name in ("status", "vector", "op", "output", "byte")}
    if first is not None:
        rows |= {
            "first difference": f"sample {first.sample}, output {named(first.output)}, "
            f"element {first.index}",
            "  on the host": first.expected,
            "  on the board": first.found,
        }
    for name, count in (("least", ticks.least), ("median", ticks.median), ("most", ticks.most)):
        time = ticks.milliseconds(count)
        rows[f"ticks, {name}"] = number(count) + (f" ({time:,.3f} ms)" if time is not None else "")
    if report.told is not None:
        rows["cycles, median"] = number(report.measured)
        rows["cycles, as told"] = span(report.told.cycles.low, report.told.cycles.high)
        rows["  within this range"] = report.as_told
    return facts(rows | dict(more or {}))


def slices(plan: Slices, run: SlicesRun | None = None) -> dict[str, object]:
    """How an inference was cut, and its longest slice: as estimated, and as counted if it ran."""
    longest = plan.longest.nodes if run is None else run.longest_ops
    counted = {"  instructions of the longest": run.longest} if run is not None else {}
    return {
        "slices": plan.count,
        "  instructions, as estimated": plan.longest.instructions,
        **counted,
        "  its ops": ", ".join(f"{i} {plan.names[i].split()[0]}" for i in longest) or "-",
    }


def cycles(report: CycleReport) -> dict[str, object]:
    """Cycles of an inference, what they are made of, and the time and energy that they take."""
    from tinyrt.emulate.cycles.report import Basis

    rows: dict[str, object] = {"cycles per inference": span(report.cycles.low, report.cycles.high)}
    rows["  figures"] = "of the manual" if report.table.exact else "bounds: none are published"
    if report.basis is Basis.INSTRUCTIONS:
        rows["  counted"] = "instructions only: this QEMU has no plugins"
    if report.timing.flash.wait:
        rows["  wait states"] = report.timing.flash.wait
    for name in ("milliseconds", "millijoules"):
        if (ends := getattr(report, name)) is not None:
            rows[f"{name} per inference"] = span(*ends)
    return rows


def span(low: float, high: float) -> str:
    """A range as people read it."""
    return number(low) if low == high else f"{number(low)} to {number(high)}"


def costs(ops: Sequence[OpCost]) -> Table:
    """Where the instructions go, op by op, and the peer's where they are known."""
    if any(op.cycles for op in ops):
        return _timed(ops)
    compared = any(op.baseline for op in ops)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False)
    columns = ["#", "op", "MACs", "instructions", "share", "per MAC"]
    columns += ["TFLM", "ratio"] if compared else []
    for column in columns:
        table.add_column(column, justify="left" if column == "op" else "right")
    if compared:
        table.caption = "TFLM: TFLM with CMSIS-NN on this core"
    total = sum(op.instructions for op in ops)
    for op in ops:
        figures = (op.index, op.op, op.macs, op.instructions)
        share = percent(op.instructions / total) if total else "-"
        row = [*map(number, figures), share, number(op.instructions_per_mac)]
        table.add_row(*row, *([number(op.baseline), number(op.ratio)] if compared else []))
    return table


def _timed(ops: Sequence[OpCost]) -> Table:
    """Instructions and cycles, op by op."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False)
    for column in ("#", "op", "MACs", "instructions", "per MAC", "cycles"):
        table.add_column(column, justify="left" if column == "op" else "right")
    for op in ops:
        figures = map(number, (op.index, op.op, op.macs, op.instructions))
        cycles_of = "-" if op.cycles is None else span(op.cycles.low, op.cycles.high)
        table.add_row(*figures, number(op.instructions_per_mac), cycles_of)
    return table
