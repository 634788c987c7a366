"""What records of ops share: their own form, shapes, windows, tables, walks."""
