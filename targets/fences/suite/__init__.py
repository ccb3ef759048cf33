"""Generated programs whose fences, orders and atomics wmtrace must recover: see ../README.md."""
