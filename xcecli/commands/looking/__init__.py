"""Commands that look ahead: conditions that are waited for, and what would happen if."""
