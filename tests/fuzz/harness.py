"""Fuzz one target with libFuzzer, which is guided by what code an input reaches: ``harness.py TARGET [OPTION ...]``.

The options are those of libFuzzer. Inputs that fail, hang or use too much memory are left in the folder of
``-artifact_prefix``.
"""

import sys

import atheris

with atheris.instrument_imports(include=["callboard"]):
    import target

    TARGET = target.load(sys.argv[1])

if __name__ == "__main__":
    atheris.Setup([sys.argv[0], *sys.argv[2:]], TARGET.run)
    atheris.Fuzz()
