"""What makes the workers of a recorded trace slow, and how sure that is."""
