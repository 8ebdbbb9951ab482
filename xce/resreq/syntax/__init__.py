"""From tokens to a judged tree: values of tokens, sections, assembly and the hints of errors."""
