"""What waits in other forms than a job of its own, and what its order is made from."""
