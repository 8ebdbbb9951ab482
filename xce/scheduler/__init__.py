"""The pure session: a frozen snapshot goes in, a plan and its reasons come out."""
