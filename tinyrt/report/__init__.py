"""Results as self-contained HTML pages."""

from tinyrt.report.inspect_page import render_page, write_page
from tinyrt.report.page import write_report

__all__ = ["render_page", "write_page", "write_report"]
