"""The processes of a launch: which they are, and how all of them are signalled, frozen, killed."""
