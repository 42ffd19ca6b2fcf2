"""The workshop in the browser: bodies that are built and changed while they run."""
