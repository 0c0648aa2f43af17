"""Models, as flax nnx modules, and the registry that finds one by its name."""
