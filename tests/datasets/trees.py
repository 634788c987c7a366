"""Folders of two classes."""


def classes_of(folder, save, sample, ending):
    """``a/0`` and ``b/0``, both of that sample."""
    for name in ("a", "b"):
        save(folder / name / f"0.{ending}", sample)
