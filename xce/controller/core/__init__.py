"""The pure heart: state, decide, apply, wanted. No clock, chance, files, sockets or threads."""
