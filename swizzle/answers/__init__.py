"""What a solution becomes: texts, pictures, explanations, and several kernels that run one after the other."""
