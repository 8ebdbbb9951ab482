"""From a tree to a need: amounts, the select in normal form, units and processors."""
