"""A kernel run for all threads of a launch, on numbers and on terms, and compared with its specification."""
