"""Resources beyond what hosts count themselves: who uses a type, pools, reported values."""
