"""Claims over HTTP: looked at, made, renewed, checked, given back."""
