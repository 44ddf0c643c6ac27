"""A lesson as one page of HTML that needs nothing else: styles inside, answers closed.

Reads just the Markdown that lessons are written in: paragraphs, lists of one level, quotes, blocks
of code, and inside them code, strong and stressed words, and links.
"""

import re
from collections.abc import Iterator
from html import escape

from app.widgets.python_style import styled_lines
from core.lessons import SCHEME, SOURCE, Part, parse_show

_STYLE = """\
:root { color-scheme: light dark;
  --paper: #fff; --ink: #1c1c1c; --dim: #5c5c5c; --raised: #f1f1f1; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #1b1b1b; --ink: #e8e8e8; --dim: #a8a8a8; --raised: #2a2a2a; }
}
body { background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif;
  max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
.about, .where { color: var(--dim); }
.where { font-size: .85em; }
pre { background: var(--raised); padding: .6rem .8rem; overflow-x: auto; }
code { font-family: ui-monospace, monospace; font-size: .92em; }
pre .faint { color: var(--dim); }
pre .bold { font-weight: 600; }
blockquote { margin: 1rem 0; padding-left: 1rem; border-left: 3px solid var(--dim);
  font-weight: 600; }
summary { cursor: pointer; font-weight: 600; padding: .4rem 0; }
"""
_INLINE = re.compile(
    r"`(?P<code>[^`]+)`|\*\*(?P<strong>.+?)\*\*|\*(?P<em>[^*]+)\*"
    r"|\[(?P<text>[^\]]*)\]\((?P<link>[^)]*)\)|(?P<source>" + SOURCE.pattern + ")"
)


def lesson_page(title: str, about: str, asked: tuple[Part, ...], answers: tuple[Part, ...]) -> str:
    """The page of a lesson; what is asked is open, each answer in a closed `<details>`."""
    body = [f"<h1>{escape(title)}</h1>", f'<p class="about">{escape(about)}</p>']
    for part in asked:
        body += [f"<h2>{escape(part.title)}</h2>", *_blocks(part.text)]
    for part in answers:
        body += [f"<details><summary>{escape(part.title)}</summary>", *_blocks(part.text)]
        body.append("</details>")
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>",
        f"<style>\n{_STYLE}</style></head><body>",
        *body,
        "</body></html>",
    ]
    return "\n".join(lines)


def _blocks(markdown: str) -> Iterator[str]:
    lines = iter(markdown.splitlines())
    held: list[str] = []
    for line in lines:
        if line.startswith("```"):
            yield from _words(held)
            held = []
            yield _code(line.removeprefix("```"), lines)
        elif line.strip():
            held.append(line)
        else:
            yield from _words(held)
            held = []
    yield from _words(held)


def _code(language: str, lines: Iterator[str]) -> str:
    """The lines up to the end of the block, which is taken too."""
    taken: list[str] = []
    for line in lines:
        if line.startswith("```"):
            break
        taken.append(line)
    text = "\n".join(taken)
    if language != "python":
        return f"<pre><code>{escape(text)}</code></pre>"
    styled = (
        "".join(
            escape(span.text)
            if span.voice == "plain"
            else f'<span class="{span.voice}">{escape(span.text)}</span>'
            for span in line
        )
        for line in styled_lines(text)
    )
    return f"<pre><code>{chr(10).join(styled)}</code></pre>"


def _words(lines: list[str]) -> Iterator[str]:
    """Lines that belong together: a list, a quote or a paragraph."""
    if not lines:
        return
    text = "\n".join(lines)
    if text.startswith("- "):
        items = re.split(r"^- ", text, flags=re.MULTILINE)[1:]
        inner = "".join(f"<li>{_inline(_joined(item))}</li>" for item in items)
        yield f"<ul>{inner}</ul>"
    elif text.startswith("> "):
        yield f"<blockquote>{_inline(_joined(re.sub(r'^> ?', '', text, flags=re.M)))}</blockquote>"
    else:
        yield f"<p>{_inline(_joined(text))}</p>"


def _joined(text: str) -> str:
    return " ".join(text.split())


def _inline(text: str) -> str:
    made, at = "", 0
    for found in _INLINE.finditer(text):
        made += escape(text[at : found.start()]) + _marked(found)
        at = found.end()
    return made + escape(text[at:])


def _marked(found: re.Match[str]) -> str:
    kind, inner = found.lastgroup, found[found.lastgroup or 0]
    match kind:
        case "code":
            return f"<code>{escape(inner)}</code>"
        case "strong" | "em":
            return f"<{kind}>{_inline(inner)}</{kind}>"
        case "source":
            repository, number = inner.split("#")
            return f'<a href="https://github.com/{repository}/issues/{number}">{escape(inner)}</a>'
        case _:
            return _link(found["text"], found["link"])


def _link(text: str, link: str) -> str:
    if not link.startswith(SCHEME):
        return f'<a href="{escape(link)}">{_inline(text)}</a>'
    return f'{_inline(text)} <span class="where">({escape(_where(link))})</span>'


def _where(link: str) -> str:
    """What a link would show, in words, and the command that shows its step."""
    show = parse_show(link)
    named = {
        "step": show.step,
        "panel": show.dock,
        "slot": show.slot,
        "token": show.token_index,
        "layer": show.layer,
        "head": show.head,
    }
    words = ", ".join(f"{name} {value}" for name, value in named.items() if value is not None)
    if not show.faults:
        return words
    command = " ".join(["kvscope", *(f"--fault {fault}" for fault in show.faults)])
    step = "" if show.step is None else f" --step {show.step}"
    return f"{words}: {command}{step}" if words else f"{command}{step}"
