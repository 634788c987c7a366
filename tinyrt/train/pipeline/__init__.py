"""From anyone's float model to a trained int8 one, in one call.

``lessons`` (what each output learns, and how well it does), ``samples`` (what from), ``setting``
(the user's choices), ``run`` (the stages: prune, train in float, train for int8), ``outcome`` (what
has come of it).
"""
