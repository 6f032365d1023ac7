"""Settings for all tests: hypothesis may take its time, since no test asserts one, and says how to repeat a failure."""

from hypothesis import settings

settings.register_profile("patient", deadline=None, print_blob=True)
settings.load_profile("patient")
