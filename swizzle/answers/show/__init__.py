"""Pictures of what a kernel moves: facts from a run of the machine, laid out once, drawn as SVG or as a page."""
