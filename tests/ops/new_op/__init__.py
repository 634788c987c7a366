"""An op that is new: the places where it is written, and what it must then be able to do."""
