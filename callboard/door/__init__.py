"""Input validation: all input from outside is checked here, once, before any actor sees it.

``rules`` has the checks of values, ``limits`` the bounds, and each other file the input for one kind of object.
The library, the command line and the configuration all use it.
"""
