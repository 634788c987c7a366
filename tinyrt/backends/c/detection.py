"""detection_postprocess, whose kernel compares the boxes in its working memory."""

from __future__ import annotations

from tinyrt.backends.c.chooser import Choosers
from tinyrt.backends.c.kernel import Calls, Fields, Kernel, Params, Scratch, Target, call
from tinyrt.ir import BoundNode
from tinyrt.ops.detection_postprocess import DetectionPostprocessAttrs
from tinyrt.ops.shared.spec import Form

BOX_BYTES = 24
"""Of a box in working memory: its corners, its score and its rank."""


def detection_f32(node: BoundNode, target: Target) -> Kernel:
    """The kernel ``tinyrt_detection_postprocess_f32``."""
    del target
    return Kernel(lambda: _calls(node), scratch_bytes=BOX_BYTES * node.input(0).shape[1])


def _calls(node: BoundNode) -> Calls:
    attrs = node.attrs_as(DetectionPostprocessAttrs)
    _, boxes, coordinates = node.input(0).shape
    fields: Fields = {
        "boxes": boxes,
        "coordinates": coordinates,
        "classes": attrs.num_classes,
        "background": node.input(1).shape[2] - attrs.num_classes,
        "detections": attrs.max_detections,
        "of_a_class": attrs.detections_per_class,
        "by_class": attrs.use_regular_nms,
        "score_threshold": attrs.score_threshold,
        "iou_threshold": attrs.iou_threshold,
        "y_scale": attrs.y_scale,
        "x_scale": attrs.x_scale,
        "h_scale": attrs.h_scale,
        "w_scale": attrs.w_scale,
    }
    params = Params("tinyrt_detection_postprocess_params", fields)
    inputs = (node.input(i) for i in range(3))
    memory = Scratch(pointer="tinyrt_detection_box *")
    return (call("tinyrt_detection_postprocess_f32", params, *inputs, memory, *node.outputs),)


KERNELS: Choosers = {"detection_postprocess": {Form.FLOAT: detection_f32}}
