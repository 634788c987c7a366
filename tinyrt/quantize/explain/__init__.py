"""Where a quantised model lost accuracy, and what wins it back."""
