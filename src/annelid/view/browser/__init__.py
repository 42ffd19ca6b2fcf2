"""Live simulations and recordings in the browser, through viser."""
