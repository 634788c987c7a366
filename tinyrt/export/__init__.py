"""From a .tflite file to a C project that builds by itself."""

from tinyrt.export.anomaly import ExportedAnomaly, export_anomaly
from tinyrt.export.boxes import ExportedBoxes, ExportedTopK, export_boxes, export_top_k
from tinyrt.export.bundle import export_c, export_graph
from tinyrt.export.cascade import ExportedCascade, export_cascade
from tinyrt.export.detector import ExportedDetector, export_detector
from tinyrt.export.front_end import ExportedFrontEnd, export_front_end
from tinyrt.export.learner import ExportedLearner, export_learner
from tinyrt.export.memories import Memories
from tinyrt.export.options import ExportOptions
from tinyrt.export.ports import Port
from tinyrt.export.project import ExportedProject
from tinyrt.export.several import ExportedModels, export_several
from tinyrt.export.target import ARM, CORES, RISCV, Core, find_core
from tinyrt.export.update import MadeBlob, make_blob

__all__ = [
    "ARM",
    "CORES",
    "RISCV",
    "Core",
    "ExportOptions",
    "ExportedAnomaly",
    "ExportedBoxes",
    "ExportedCascade",
    "ExportedDetector",
    "ExportedFrontEnd",
    "ExportedLearner",
    "ExportedModels",
    "ExportedProject",
    "ExportedTopK",
    "MadeBlob",
    "Memories",
    "Port",
    "export_anomaly",
    "export_boxes",
    "export_c",
    "export_cascade",
    "export_detector",
    "export_front_end",
    "export_graph",
    "export_learner",
    "export_several",
    "export_top_k",
    "find_core",
    "make_blob",
]
