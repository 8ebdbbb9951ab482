"""The other small languages of a submission: array names and dependency expressions.

They are read in the style of the requirement language: a grammar, a frozen tree, one printed
form that reads back as the same tree, and refusals with a column and a likely intention.
"""
