"""The part of the host side that outlives the agent: journal, launches, clean-up.

Standard library only, one thread, started with `python -I -S`. Nothing here knows of HTTP, of
the controller, or of msgspec; what the agent asks and is told are lines of JSON (`wire`).
"""
