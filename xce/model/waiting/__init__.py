"""What waits in other forms than a job of its own."""
