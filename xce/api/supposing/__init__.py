"""What would happen if: bodies and the route."""
