"""Training recipes: each takes data that install with a package to an int8 model.

``recipe`` says what a recipe is, ``stages`` what is done with it; one file each holds data,
network and rates.
"""

from tinyrt.train.recipes.anomaly import ANOMALY
from tinyrt.train.recipes.digits import DIGITS
from tinyrt.train.recipes.gesture import GESTURE
from tinyrt.train.recipes.motion import MOTION
from tinyrt.train.recipes.recipe import Recipe
from tinyrt.train.recipes.vowels import VOWELS

RECIPES: dict[str, Recipe] = {r.name: r for r in (DIGITS, MOTION, GESTURE, VOWELS, ANOMALY)}
"""Every recipe by its name."""

__all__ = ["RECIPES", "Recipe"]
