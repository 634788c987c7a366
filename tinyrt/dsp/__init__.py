"""What stands around a network: front ends from samples to features, and decisions by scores.

Each is a value in fixed point; its reference in NumPy is the specification of the C code.
"""

from tinyrt.dsp.anomaly import Anomaly, AnomalyStream
from tinyrt.dsp.boxes import Boxes, Found
from tinyrt.dsp.camera import Camera
from tinyrt.dsp.detector import Detector, DetectorStream
from tinyrt.dsp.federated import federated_average
from tinyrt.dsp.learner import Learner, LearnerState
from tinyrt.dsp.log_mel import LogMel, NoiseReduction, Pcan
from tinyrt.dsp.motion import Motion
from tinyrt.dsp.motion_stream import MotionStream
from tinyrt.dsp.nearest_mean import NearestMean, NearestMeanState
from tinyrt.dsp.pipeline import Pipeline
from tinyrt.dsp.stream import LogMelStream
from tinyrt.dsp.top_k import TopK
from tinyrt.dsp.vision import Vision

__all__ = [
    "Anomaly",
    "AnomalyStream",
    "Boxes",
    "Camera",
    "Detector",
    "DetectorStream",
    "Found",
    "Learner",
    "LearnerState",
    "LogMel",
    "LogMelStream",
    "Motion",
    "MotionStream",
    "NearestMean",
    "NearestMeanState",
    "NoiseReduction",
    "Pcan",
    "Pipeline",
    "TopK",
    "Vision",
    "federated_average",
]
