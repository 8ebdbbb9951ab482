"""Time as the core keeps it: expected ends, reservations, who is to give way."""
