"""An independent check of an arena plan: it shares no reasoning with the planner."""
