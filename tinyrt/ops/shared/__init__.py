"""Code that op records share: the record itself, shape rules, windows, tables and walks."""
