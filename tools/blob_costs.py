"""The table of docs/updates.md: what a blob adds to each model of the zoo, on emulated cores.

``python tools/blob_costs.py`` prints its lines; the zoo is where ``TINYRT_ZOO`` says.
"""

import os
from pathlib import Path

from tinyrt.api import run_emulated
from tinyrt.export import ExportOptions

MODELS = ("autoencoder_ad", "dscnn_kws", "mobilenet_vww", "resnet8", "streaming_wakeword")
CORES = ("cortex-m0", "cortex-m4", "cortex-m55")


def main() -> None:
    """Print the lines."""
    folder = Path(os.environ["TINYRT_ZOO"]) / "models"
    for name in MODELS:
        for core in CORES:
            path = folder / f"{name}_int8.tflite"
            plain, blob = (
                run_emulated(path, core=core, samples=1, options=ExportOptions(blob=b))
                for b in (False, True)
            )
            one, other = plain.instructions, blob.instructions
            assert one is not None
            assert other is not None
            share, stack = 100 * (other / one - 1), blob.ram.stack - plain.ram.stack
            print(f"| {name} | {core} | {one:,} | {other:,} | {share:.3f} % | {stack} |")


if __name__ == "__main__":
    main()
