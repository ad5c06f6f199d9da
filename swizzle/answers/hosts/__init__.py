"""Host functions: kernels that run one after the other, checked against one specification, printed, and run."""
