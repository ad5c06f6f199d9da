"""Is a kernel its specification: in terms, as printed text, as PTX, and in numbers on a CPU or a GPU?"""
