"""Job Engine's side of the comparison."""
