"""Who may have how much: the weights of accounts, and what limits leave."""
