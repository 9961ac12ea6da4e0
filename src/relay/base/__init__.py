"""Leaf helpers named by subject; imports nothing of ours."""
