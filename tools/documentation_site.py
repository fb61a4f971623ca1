"""Build the documentation site: the pages of `docs/`, and a reference made from the package.

    python tools/documentation_site.py [FOLDER]

Needs the extra `docs`; no network. Warnings are errors, and every link between pages and every
picture must lead somewhere. FOLDER (build/site unless given) then holds pages that can be opened as
files; searching them needs no server.
"""

from __future__ import annotations

import importlib
import inspect
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    "Start": ("start-here", "for-torch-users", "for-numpy-users", "run-a-model", "packages"),
    "Reference": (
        "reference",
        "operators",
        "environment",
        "interop",
        "programs",
        "transforms",
        "compile",
        "random",
        "profiler",
    ),
    "How it works": ("how-it-works", "architecture", "add-an-operator", "add-a-backend"),
    "What is promised": ("conformance", "accuracy", "performance", "reliability"),
}
# Namespaces of the reference, and what they are.
NAMESPACES = {
    "aten": "Functions of the package",
    "aten.Tensor": "Tensors",
    "aten.nn.functional": "Layers, activations and losses",
    "aten.linalg": "Linear algebra",
    "aten.fft": "Fourier transforms",
    "aten.special": "Special functions",
    "aten.masked": "Folds over masked elements",
    "aten.signal.windows": "Windows",
    "aten.random": "Random numbers",
    "aten.memory": "Memory",
    "aten.profiler": "The profiler",
    "aten.export": "Programs",
    "aten.safetensors": "Weights",
    "aten.library": "Operators of one's own",
}
_FUNCTIONS = (
    *("function", "cython_function_or_method", "OpOverloadPacket", "MethodDescriptor"),
    *("getset_descriptor", "property"),
)
_SETTINGS = {
    "project": "aten",
    "extensions": ["myst_parser"],
    "html_theme": "furo",
    "html_title": "aten",
    "html_show_sphinx": False,
    "html_copy_source": False,
    "html_show_copyright": False,
    "myst_heading_anchors": 3,
    # Types in signatures are words here, not links.
    "nitpicky": False,
    "highlight_language": "none",
    "language": "en",
    "toc_object_entries": False,
}


def stage(folder: Path) -> None:
    """The sources of the site: the pages as they are, but for links that leave them."""
    for page in sorted((ROOT / "docs").glob("*.md")):
        (folder / page.name).write_text(_without_outer_links(page))
    shutil.copytree(ROOT / "docs/pictures", folder / "pictures")
    for picture in (ROOT / "docs").glob("*.svg"):
        shutil.copy(picture, folder)
    index = folder / "index.md"
    index.write_text(index.read_text() + "".join(_contents()))
    listed = {page for pages in PAGES.values() for page in pages}
    others = sorted(
        page.stem for page in folder.glob("*.md") if page.stem not in {*listed, "index"}
    )
    if others:
        index.write_text(index.read_text() + _tree("More", others))
    rows = [f"| [`{name}`](reference/{name}.md) | {what} |" for name, what in NAMESPACES.items()]
    listed = "\n".join(f"reference/{name}" for name in NAMESPACES)
    page = folder / "reference.md"
    table = "\n| | |\n|---|---|\n" + "\n".join(rows)
    page.write_text(page.read_text() + table + f"\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n")
    reference = folder / "reference"
    reference.mkdir()
    for name, text in reference_pages():
        (reference / f"{name}.md").write_text(text)


def _without_outer_links(page: Path) -> str:
    """Files beyond `docs/` are not on the site: their names stand there without links."""

    def changed(link: re.Match[str]) -> str:
        return f"`{link[2].removeprefix('../')}`" if link[2].startswith("../") else link[0]

    return re.sub(r"\[([^]]*)\]\(([^)]*)\)", changed, page.read_text())


def _contents() -> Iterator[str]:
    for caption, pages in PAGES.items():
        yield _tree(caption, list(pages))


def _tree(caption: str, pages: list[str]) -> str:
    listed = "\n".join(pages)
    return f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{listed}\n```\n"


def reference_pages() -> Iterator[tuple[str, str]]:
    """Name and text of each namespace's page."""
    for name, what in NAMESPACES.items():
        yield name, "\n".join([f"# {name}", "", f"{what}.", "", *_functions(name)])


def _functions(namespace: str) -> Iterator[str]:
    import aten

    owner: Any = aten.Tensor if namespace == "aten.Tensor" else importlib.import_module(namespace)
    for name in sorted(dir(owner), key=str.lower):
        value = inspect.getattr_static(owner, name, None) or getattr(owner, name)
        text = inspect.getdoc(value)
        if name.startswith("_") or type(value).__name__ not in _FUNCTIONS or not text:
            continue
        (first, *others), body = _parted(name, value, text)
        role = "py:method" if namespace == "aten.Tensor" else "py:function"
        forms = "".join(f"    {namespace}.{other}\n" for other in others)
        yield f"````{{{role}}} {namespace}.{first}\n"
        yield (f"Also:\n\n{forms}\n" if forms else "") + f"{body}\n````\n"


def _parted(name: str, value: Any, text: str) -> tuple[list[str], str]:
    """How the function is called, and what is said of it."""
    head, _, body = text.partition("\n\n")
    if head.startswith(f"{name}("):
        return [line for line in head.splitlines() if line], body
    try:
        return [f"{name}{inspect.signature(value)}".replace("'", "")], text
    except (TypeError, ValueError):
        return [name], text


class _Links(HTMLParser):
    """The targets of a page's links and pictures, and the places that links can lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value and tag in ("a", "img", "script", "link"):
                (self.targets if tag == "a" else self.loaded).append(value)
            elif name == "id" and value:
                self.places.add(value)


def broken_links(site: Path) -> list[str]:
    """Links that lead nowhere, and whatever a page would load from elsewhere."""
    pages = {}
    for path in site.rglob("*.html"):
        pages[path.resolve()] = parser = _Links()
        parser.feed(path.read_text(encoding="utf-8"))
    broken = []
    for path, page in pages.items():
        for target in [*page.targets, *page.loaded]:
            parts = urlsplit(target)
            if parts.scheme == "data":
                continue
            if parts.scheme or parts.netloc:
                if target in page.loaded:
                    broken.append(f"{path.name}: {target} is loaded from elsewhere")
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not file.exists():
                broken.append(f"{path.name}: {target} is not there")
            elif (
                parts.fragment
                and file in pages
                and unquote(parts.fragment) not in (pages[file].places)
            ):
                broken.append(f"{path.name}: {target} has no such place")
    return broken


def build(site: Path) -> int:
    """Writes the site. Returns 0, or 1 after warnings and broken links, which are printed."""
    from sphinx.cmd.build import build_main

    with tempfile.TemporaryDirectory() as sources:
        stage(Path(sources))
        Path(sources, "conf.py").write_text(
            "".join(f"{name} = {value!r}\n" for name, value in _SETTINGS.items())
        )
        shutil.rmtree(site, ignore_errors=True)
        doctrees = str(Path(sources, ".doctrees"))
        if build_main(["-q", "-W", "--keep-going", "-d", doctrees, sources, str(site)]):
            return 1
    broken = broken_links(site)
    for line in broken:
        print(line, file=sys.stderr)
    pages = len(list(site.rglob("*.html")))
    print(f"{site}: {pages} pages, {len(broken)} broken links")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/site").resolve()))
