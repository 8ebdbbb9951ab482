"""The write-ahead log: one port, three logs (SQLite, PostgreSQL, memory). Begin with `port.py`."""
