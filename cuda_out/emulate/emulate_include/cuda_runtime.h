// Stands in for the CUDA toolkit's header when a printed kernel runs on the CPU: emulate.h is already included.
#pragma once
