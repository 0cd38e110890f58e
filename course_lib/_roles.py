"""One colour a role, the same in tables and pictures and, as `--role-query` and so on, in the book's style sheet."""

from __future__ import annotations

# Told apart in normal, protan, deutan and tritan vision (CIELAB distance of 20 and more), at least 4.5:1 against the
# paper; a letter, hatch or marker says the same without colour.
ROLES = {
    "q": "#1a56db",
    "k": "#9a5f00",
    "v": "#004d1d",
    "score": "#6b6b6b",
    "weight": "#640f44",
    "output": "#43058b",
}
