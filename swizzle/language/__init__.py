"""What a sketch may say: its words, its texts, specifications, and the front end that reads kernels."""
