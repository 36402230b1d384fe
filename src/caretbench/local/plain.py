"""A page of HTML as text, for terms that come as one."""

from __future__ import annotations

from html.parser import HTMLParser


def plain_text(page: str) -> str:
    """A page of HTML as text: a blank line between paragraphs, list items marked."""
    pieces: list[str] = []

    class Text(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            del attrs
            if tag in ("p", "h1", "h2", "h3", "h4", "ul", "ol", "aside"):
                pieces.append("\n\n")
            elif tag == "li":
                pieces.append("\n- ")

        def handle_data(self, data: str) -> None:
            pieces.append(" ".join(data.split()).join((" " * data[:1].isspace(), " " * data[-1:].isspace())))

    Text().feed(page)
    lines = [" ".join(line.split()) for line in "".join(pieces).split("\n")]
    text = "\n".join(lines)
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text.replace("-\n\n", "- ").strip()
