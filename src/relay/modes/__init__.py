"""Headless front ends: print, json and rpc."""
