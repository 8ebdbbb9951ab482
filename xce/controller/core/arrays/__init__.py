"""Job arrays in the state: their elements, what is counted of them, how plans take them."""
