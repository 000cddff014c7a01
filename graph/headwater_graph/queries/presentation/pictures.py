"""Answers as pictures, drawn by the code of the page: an SVG file, and an HTML document in which the graph can be moved."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from headwater_avro.errors import ConfigError

from .page_modules import bundled, light_colours, styles

_DOCUMENT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Lineage</title>
<style>{style}</style>
</head>
<body>
<main id="main" class="view view-lineage is-stored"></main>
<div id="announcer" class="visually-hidden" role="status" aria-live="polite"></div>
<noscript>This file needs JavaScript. It loads nothing and sends nothing.</noscript>
<script type="application/json" id="answer">{data}</script>
<script>{script}</script>
</body>
</html>"""


def svg_text(answer: Mapping[str, Any]) -> str:
    """Return the picture of an answer (``answer_value``) as an SVG file, in the colours of the light scheme.

    Raises ConfigError if the engine that runs the page's JavaScript is not installed.
    """
    try:
        import quickjs
    except ModuleNotFoundError as missing:
        raise ConfigError(
            "`--format svg` needs quickjs: pip install 'headwater[picture]'. `--format html` needs nothing, "
            "and its page saves the same SVG"
        ) from missing
    draw = bundled("export/picture.js", "svgFile")
    of_texts = f"const draw = {draw}; (answer, colours) => draw(JSON.parse(answer), JSON.parse(colours))"
    return str(quickjs.Context().eval(of_texts)(json.dumps(answer), json.dumps(light_colours()))).rstrip("\n")


def html_text(answer: Mapping[str, Any], at: datetime) -> str:
    """Return the picture of an answer as an HTML document that needs no server and no network; ``at`` is when it was queried.

    Its content security policy allows its own script and style and nothing else, so it can neither load nor send anything.
    """
    script, style = bundled("export/document.js"), styles()
    sources = f"script-src {_source('script', script)}; style-src {_source('style', style)}"
    policy = f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"
    # No text of the answer can end the element that contains it.
    data = json.dumps({"answer": answer, "at": _time(at)}).replace("<", "\\u003c")
    return _DOCUMENT.format(policy=policy, style=style, data=data, script=script)


def _source(element: str, text: str) -> str:
    """Return how a policy names an inline script or style."""
    if f"</{element}" in text or "<!--" in text:
        raise ValueError(f"an inline {element} can't contain its own end")
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _time(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
