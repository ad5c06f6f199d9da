"""The text of PTX, read: tokens, declarations, bodies; what is not understood is refused."""
