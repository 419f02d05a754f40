"""Steps and collectives in traces of PyTorch's profiler."""
