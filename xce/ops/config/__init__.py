"""One file `xce.toml`: what it may say, read and checked, with the place of every fault."""
