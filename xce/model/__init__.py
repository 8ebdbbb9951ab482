"""Words, ids, tables, entities, commands and records. Knows nothing of the rooms above it."""
