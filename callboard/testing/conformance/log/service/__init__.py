"""How a log serves many: with what it declares, side by side, at once, and after it or they have died."""
