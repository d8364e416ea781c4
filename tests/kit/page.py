"""A page as a reader's program sees it: its headings, pictures and links; it is whole and needs no other file."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = frozenset({"meta", "img", "br", "link"})


class Page(HTMLParser):
    """Tags that are open, pictures, sources and headings of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.sources: list[str] = []
        self.headings: list[str] = []
        self.pictures = 0
        self.feed(text)
        assert self.open == []
        assert all(source.startswith(("data:image/png", "#")) for source in self.sources)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in {"script", "link"}
        self.pictures += tag == "svg"
        self.sources += [value or "" for name, value in attrs if name in {"src", "href", "xlink:href"}]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in {"h1", "h2"} and data.strip():
            self.headings.append(data)
