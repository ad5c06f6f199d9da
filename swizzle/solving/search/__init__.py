"""From a sketch to a solution: the problem, one space at a time, the spaces in order, the certificate."""
