"""Many worlds of one solid stepped together, in single precision: Newton's method led by one inverse for all."""
