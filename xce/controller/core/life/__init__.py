"""How starts, launches, members and gangs live and end; the only writers of records' changes."""
