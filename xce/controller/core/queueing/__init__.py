"""What waits and by whose right: the order, the accounts that share it, what bounds them."""
