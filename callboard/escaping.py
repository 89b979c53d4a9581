"""How text that others wrote is shown: names, paths, ids, reasons, errors."""

import html
import json


def escaped(text: object) -> str:
    r"""The text on one line, and as it is: what a terminal would interpret or hide is written as in JSON, ``\u001b``.

    That is what Python calls not printable: control characters (C0, C1) and line ends, marks that turn the direction of
    writing, what has no width such as joiners, spaces that are not the usual one, and lone surrogates.
    """
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in shown)


def escaped_html(text: object) -> str:
    """The same for a page: also what would be taken for HTML."""
    return html.escape(escaped(text))
