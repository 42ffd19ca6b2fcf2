"""Ground that resists like sand, below solids of finite elements that move."""
