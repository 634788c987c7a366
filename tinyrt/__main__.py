"""``python -m tinyrt``."""

from tinyrt.cli import main

main()
