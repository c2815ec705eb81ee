"""Vectors of texts and pictures: five ways to make them, one in use.

What loads a model does so in a process of its own (`child`); this room starts it, asks it and ends it.
"""
