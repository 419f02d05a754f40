"""What a person types, and what they see."""
