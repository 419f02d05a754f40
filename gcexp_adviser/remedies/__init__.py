"""What should be set on a cluster whose times were recorded: a code, other loads, a timeout, or nothing."""
