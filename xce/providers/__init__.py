"""Providers: code that finds instances of a type on a host and makes a claim usable there."""
