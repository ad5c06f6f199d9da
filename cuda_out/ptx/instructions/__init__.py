"""What each instruction of PTX is: its form, and its meaning on numbers, terms, indices and growing values."""
