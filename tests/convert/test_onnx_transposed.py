"""ConvTranspose answers as onnxruntime does."""

import pytest

from tests.convert.onnx_build import OnnxModel, assert_matches

CASES = {}


def transposed(name: str, x: tuple[int, ...], w: tuple[int, ...], **attrs) -> None:
    def build(m):
        channels = w[1] * attrs.get("group", 1)
        return m.op("ConvTranspose", m.input(*x), m.weights(*w), m.weights(channels), **attrs)

    CASES[name] = build


IMAGE = (1, 4, 5, 6)
transposed("plain", IMAGE, (4, 3, 3, 2))
transposed("strided", IMAGE, (4, 3, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1])
transposed("cut_as_same", IMAGE, (4, 3, 4, 3), strides=[2, 1], pads=[1, 1, 1, 1])
transposed("padded", IMAGE, (4, 3, 3, 3), strides=[2, 3], pads=[1, 0, 1, 1], output_padding=[1, 2])
transposed("dilated", IMAGE, (4, 3, 3, 2), dilations=[2, 3])
transposed("grouped", IMAGE, (4, 3, 2, 2), group=2, strides=[2, 2])
transposed("same", IMAGE, (4, 3, 3, 3), auto_pad="SAME_UPPER", strides=[2, 2])
transposed("one_dimension", (1, 4, 7), (4, 3, 3), strides=[2])


@pytest.mark.parametrize("name", CASES)
def test_matches_onnxruntime(name, tmp_path):
    model = OnnxModel(18)
    assert_matches(model.save(tmp_path, CASES[name](model)), tolerance=1e-4)
