"""Compiled inner loops on flat arrays, with a readable twin."""
