"""The command line `streamacc`: a captured or arriving stream in, the complete message out.

It is built on `stream` and the public names alone, and nothing else in the library imports it. `command` reads the
arguments, `reading` turns a source into an outcome and an exit status, `render` makes the outcome readable.
"""

from .command import main

__all__ = ["main"]
