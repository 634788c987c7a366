"""Models over a window that slides in time, as models that take new frames and keep the rest."""
