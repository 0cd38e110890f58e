"""Notebooks as nbformat has them: read, made, and written so that the same cells give the same bytes."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any


def read_notebook(path: Path) -> Any:
    """One of our own notebooks."""
    return load_nbformat().read(path, as_version=4)


def unpacked(text: str) -> Any:
    """The notebook that `packed` wrote."""
    return load_nbformat().from_dict(json.loads(text))


def packed(notebook: Any) -> str:
    """A notebook's file as a program writes it for programs: on one line, and not looked at before."""
    return json.dumps(notebook, ensure_ascii=False, separators=(",", ":")) + "\n"


def text_of(notebook: Any) -> str:
    """A notebook's file, as one text that ends in one newline."""
    load_nbformat().validate(notebook)
    text: str = load_nbformat().writes(notebook)
    return text.rstrip("\n") + "\n"


def write_notebook(notebook: Any, path: Path) -> None:
    """Writes a notebook's file."""
    path.write_text(text_of(notebook), encoding="utf-8", newline="\n")


def new_notebook(cells: list[Any], metadata: dict[str, Any]) -> Any:
    """A notebook in format 4.5, not looked at before it is written."""
    return load_nbformat().from_dict(
        {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}
    )


def new_cell(kind: str, name: str, source: str, metadata: dict[str, Any]) -> Any:
    """A cell of `kind` "code" or "markdown" whose id is `name`."""
    v4 = load_nbformat().v4
    make = v4.new_code_cell if kind == "code" else v4.new_markdown_cell
    return make(id=name, source=source, metadata=metadata)


def unchecked_cell(kind: str, source: str, metadata: dict[str, Any]) -> Any:
    """A cell of `kind` "code", "markdown" or "raw", without an id, and not looked at."""
    run: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return load_nbformat().from_dict({"cell_type": kind, "metadata": metadata, "source": source, **run})


def new_output(kind: str, **fields: Any) -> Any:
    """An output of a cell: "stream", "error", "display_data" or "execute_result"."""
    if kind in ("display_data", "execute_result"):
        fields.setdefault("metadata", {})
    return load_nbformat().from_dict({"output_type": kind, **fields})


def load_nbformat() -> Any:
    """The module nbformat. Whatever else loads jsonschema starts a second sooner after this."""
    if "jsonschema" in sys.modules:
        return importlib.import_module("nbformat")  # untyped, and slow to load: here alone, and when used
    # jsonschema builds a grammar of IRIs when it is imported, for a second: no notebook asks for that check.
    grammar = "rfc3987_syntax"
    before = sys.modules.get(grammar)
    sys.modules[grammar] = None  # type: ignore[assignment]
    try:
        return importlib.import_module("nbformat")
    finally:
        del sys.modules[grammar]
        if before is not None:
            sys.modules[grammar] = before
