"""Limits that change while a session books: what each says of an ask, and what is booked on it."""
