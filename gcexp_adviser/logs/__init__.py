"""From any log of workers' times to one record."""
