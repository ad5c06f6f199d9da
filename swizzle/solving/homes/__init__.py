"""`exchange`: which element goes where, and the programs that take it there."""
