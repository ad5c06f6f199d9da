"""From a sketch to a solution: what is asked, what it costs, how it is searched, audited and kept."""
