"""Ground that resists like sand, without grains: resistive force theory, media, and what an obstacle of it is."""
