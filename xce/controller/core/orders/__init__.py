"""What hosts are to bring about, worked out from the state at the moment it is sent."""
