"""Results as self-contained HTML pages."""

from tinyrt.report.page import render_page, write_page

__all__ = ["render_page", "write_page"]
