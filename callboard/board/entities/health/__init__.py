"""How far entities, projections and reactions are, by what they announce."""
