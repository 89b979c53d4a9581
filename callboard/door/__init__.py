"""The door: what is given from outside is checked here, once, before any actor sees it.

``rules`` says how a value is checked, ``limits`` which bounds there are, and the other files what may be said of each
noun. The library, the command line and the configuration all come through here.
"""
