"""Contact of solids with rigid things: what they touch, how they push and rub, how moves are cut."""
