"""Two exported models in one image, taking turns in one arena, with tensors outside of it."""

import pytest

from tests.firmware.two_models import FIRST, SECOND, assert_golden, pair_of
from tinyrt.export import export_c

SOURCE = """
#include "pair.h"
#include "autoencoder_ad_int8.h"
#include "dscnn_kws_int8.h"

int pair_invoke(const pair_io_t *io, void *arena) {
    int8_t *bytes = arena;
    const autoencoder_ad_int8_io_t first = {bytes + PAIR_INPUT_0_OFFSET,
                                            bytes + PAIR_OUTPUT_0_OFFSET};
    const dscnn_kws_int8_io_t second = {bytes + PAIR_INPUT_1_OFFSET,
                                        bytes + PAIR_OUTPUT_1_OFFSET};
    (void)io;
    return autoencoder_ad_int8_invoke(&first, arena) || dscnn_kws_int8_invoke(&second, arena);
}
"""


@pytest.mark.whole
def test_two_models_share_image_and_arena(zoo, tmp_path):
    """Their tensors lie behind the arena that they share."""
    folder = tmp_path / "pair"
    models = [
        export_c(zoo / "models" / f"{name}.tflite", folder / which)
        for name, which in ((FIRST, "first"), (SECOND, "second"))
    ]
    end = max(model.arena_bytes for model in models)
    assert_golden(zoo, pair_of(folder, models, SOURCE, end), tmp_path)
