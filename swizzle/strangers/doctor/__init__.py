"""Bank conflicts in a CUDA kernel of somebody's own: found, mended, and the mend proved (docs/doctor.md)."""
