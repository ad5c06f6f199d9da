"""PTX, the compiler's own account of a printed kernel: read, interpreted, compared with the specification."""
