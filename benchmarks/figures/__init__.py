"""What is measured, one module for each figure: `measure(plan)` yields the lines of the result."""
