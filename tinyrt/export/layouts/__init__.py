"""The exported files in the shape that an ecosystem's build tool takes."""

from tinyrt.export.layouts.arrange import Contents, arranged
from tinyrt.export.layouts.table import CMAKE, LAYOUTS, Layout, find_layout

__all__ = ["CMAKE", "LAYOUTS", "Contents", "Layout", "arranged", "find_layout"]
