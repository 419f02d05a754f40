"""What a figure needs, and what it says."""
