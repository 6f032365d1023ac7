"""Inputs nobody wrote, for the sentence that must hold for all of them:

for any bytes, feeding and finalizing give a response or raise an AccumulatorError; nothing else, and the same however
they are cut.

`make fuzz` runs it for a chosen time; `tests/test_fuzz.py` runs a short, always equal part of it.
"""
