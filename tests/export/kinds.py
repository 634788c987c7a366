"""Exports of small models of every kind that can be asked for, and of what stands alone."""

from dataclasses import replace

from tests import listening, moving, seeing
from tests.asked import asked
from tests.cascades import pair
from tests.export.models import dense, echo, views
from tests.graphs import Builder, small_cnn
from tests.quantize.test_mixed import samples
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.dsp import Anomaly, Boxes, Detector, Learner, LogMel, NearestMean, TopK
from tinyrt.export import (
    Memories,
    export_anomaly,
    export_boxes,
    export_c,
    export_cascade,
    export_detector,
    export_front_end,
    export_graph,
    export_learner,
    export_several,
    export_top_k,
)
from tinyrt.memory import Region
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.quantize import QuantConfig, quantize_graph


def a_graph(graph, **options):
    return lambda folder, **more: export_graph(graph(), folder, **asked(**options, **more))


def several(**options):
    def export(folder, **more):
        folder.parent.mkdir(exist_ok=True)
        paths = [folder.parent / f"{graph.name}.tflite" for graph in (dense(), views())]
        for path, graph in zip(paths, (dense(), views()), strict=True):
            save_tflite(graph, path)
        return export_several(paths, folder, **asked(**options, **more))

    return export


def quantised():
    return quantize_graph(small_cnn(), samples(100), QuantConfig())


def floats():
    builder = Builder((1, 4))
    return builder.graph(builder.op("softmax", ("x",), SoftmaxAttrs()))


def with_labels(folder, **more):
    folder.parent.mkdir(exist_ok=True)
    save_tflite(dense(), folder.parent / "net.tflite")
    return export_c(folder.parent / "net.tflite", folder, **asked(info=True, **more))


def with_front_end(net, front_end):
    """A model that takes samples of sound or of motion, or frames."""

    def export(folder, **more):
        folder.parent.mkdir(exist_ok=True)
        path = listening.saved(folder.parent / "ears.tflite", net(), front_end)
        return export_c(path, folder, **asked(**more))

    return export


def an_alarm(folder, **more):
    folder.parent.mkdir(exist_ok=True)
    path = listening.saved(folder.parent / "engine.tflite", dense(size=2), None)
    return export_anomaly(Anomaly(1.0), path, folder, **more)


def a_cascade(**options):
    return lambda folder, **more: export_cascade(
        *pair(folder.parent), folder, threshold=99, **asked(**options, **more)
    )


TWO = Memories((Region("dtcm"), Region("sram")))
OUTSIDE = Memories(inputs_in_arena=False, outputs_in_arena=False)
KINDS = {
    "plain": (a_graph(views), "views"),
    "outside": (a_graph(views, memories=OUTSIDE), "views"),
    "regions": (a_graph(quantised, memories=Memories((Region("dtcm", 99), Region("sram")))), "net"),
    "one region": (a_graph(views, memories=Memories((Region("sram"),))), "views"),
    "empty region": (a_graph(dense, memories=TWO), "net"),
    "rows": (a_graph(quantised, input_rows=True), "net"),
    "slices": (a_graph(quantised, slices=3000), "net"),
    "state": (a_graph(echo), "echo"),
    "blob": (a_graph(quantised, blob=True), "net"),
    "blob in slices": (a_graph(quantised, blob=True, slices=3000), "net"),
    "several blobs": (several(shared_arena=True, blob=True), "lib"),
    "float": (a_graph(floats), "net"),
    "info": (with_labels, "net"),
    "self-test": (a_graph(echo, selftest=2), "echo"),
    "self-test in regions": (a_graph(quantised, memories=TWO, selftest=1), "net"),
    "self-tests": (several(shared_arena=True, selftest=1), "lib"),
    "speed": (a_graph(dense, optimize="speed"), "net"),
    "ports": (a_graph(quantised, input_type="float32", output_type="uint8"), "net"),
    "board": (a_graph(quantised, board=True), "net"),
    "sound": (with_front_end(listening.int8_net, listening.PIPELINE), "ears"),
    "motion": (with_front_end(moving.int8_net, moving.PIPELINE), "ears"),
    "camera": (with_front_end(seeing.int8_net, seeing.GREY), "ears"),
    "camera of colours": (with_front_end(lambda: seeing.int8_net(3), seeing.COLOURS), "ears"),
    "several": (several(), "lib"),
    "shared": (several(shared_arena=True), "lib"),
    "shared regions": (several(shared_arena=True, memories=TWO), "lib"),
    "front end": (lambda folder, **more: export_front_end(LogMel(), folder, **more), "front_end"),
    "detector": (
        lambda folder, **more: export_detector(Detector(2), folder, **more),
        "detector",
    ),
    "alarm": (an_alarm, "anomaly"),
    "sound by windows": (
        with_front_end(listening.int8_net, replace(listening.PIPELINE, normalize="features")),
        "ears",
    ),
    "cascade": (
        a_cascade(),
        "cascade",
    ),
    "cascade with more": (
        a_cascade(info=True, prefix="acme", memories=Memories(alignment=32)),
        "acme_cascade",
    ),
    "boxes": (
        lambda folder, **more: export_boxes(Boxes(9, 9, ((1, 1, 2, 2),), 1), folder, **more),
        "boxes",
    ),
    "greatest": (lambda folder, **more: export_top_k(TopK(4, 2), folder, **more), "top_k"),
    "learner": (
        lambda folder, **more: export_learner(
            Learner(((1, 2), (3, 4)), (0, 5), 3, 0.1), folder, **more
        ),
        "learner",
    ),
    "nearest mean": (
        lambda folder, **more: export_learner(
            NearestMean(((1, 2), (3, 4)), (1, 1)), folder, name="near", **more
        ),
        "near",
    ),
}
"""What -> (writes it into a folder, by the options of ``export_c``; its name in C)."""
