"""What MkDocs calls while it makes the site: pages from elsewhere in the repository come in, links follow them."""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from scripts.docs_site.commands import page_of_commands
from scripts.docs_site.csv_files import with_csv_tables
from scripts.docs_site.links import MOVED_PAGES, external_resources, rewrite_links
from scripts.docs_site.notebook import page_of

ROOT = Path(__file__).resolve().parents[2]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that lie outside of docs/, the notebook's, and the one that nobody writes."""
    for source, page in MOVED_PAGES.items():
        if source.endswith(".ipynb"):
            files.append(File.generated(config, page, content=page_of(ROOT / source)))
        else:
            files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    files.append(File.generated(config, "commands.md", content=page_of_commands()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 (MkDocs names them)
    """Rewrite all links to pages of the site, and show CSV files as tables."""
    return with_csv_tables(rewrite_links(markdown, page.file.src_uri, ROOT), ROOT / "docs")


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:  # noqa: ARG001 (MkDocs names them)
    """Refuse a page that has something sent by another host."""
    if foreign := external_resources(output):
        raise PluginError(f"{page.file.src_uri} needs {', '.join(foreign)}")
    return output
