"""Functions that the machines name by their paths: the generated modules let the type checker see to them."""
