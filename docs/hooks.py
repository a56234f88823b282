"""Called by mkdocs: makes pages beside `docs/` part of the site.

Promises: a link to one of them, or from one to a page in `docs/`, holds in the repository and in the site.
"""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
BESIDE = ("SECURITY.md", "CHANGELOG.md", "CONTRIBUTING.md")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """The site's files with those beside `docs/`."""
    for name in BESIDE:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """A page whose links lead where they do in the repository."""
    if page.file.src_uri in BESIDE:
        return markdown.replace("](docs/", "](").replace("](README.md", "](index.md")
    up = "../" * page.file.src_uri.count("/")
    beside = "|".join(map(re.escape, BESIDE))
    return re.sub(rf"\]\({re.escape(up)}\.\./({beside})", rf"]({up}\1", markdown)
