"""Constants apart from code: what training changes, in one block of bytes for field updates."""
