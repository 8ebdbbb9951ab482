"""`xce sim`: the command line of the simulator."""
