"""The table of elementary operators: generated, proved entry by entry, and matched with what a loop does."""
