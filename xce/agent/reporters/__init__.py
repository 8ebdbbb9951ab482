"""What a host reports of itself: the built-in load indices and programs of the site (ELIMs)."""
