"""A book of two short chapters, with a library of one number behind it."""

from __future__ import annotations

import shutil
from pathlib import Path

from course_lib.course import Course

ROOT = Path(__file__).resolve().parents[1]
HEAD = "---\nfile_format: mystnb\nkernelspec: {name: python3, display_name: Python 3}\n---\n"
INDEX = f"""{HEAD}
(index)=
# 첫 장

```{{code-cell}}
:tags: [tab-numpy]
print("numpy", 3.0)
```

```{{code-cell}}
:tags: [tab-torch]
print("torch", 3.0)
```

```{{code-cell}}
from course_lib import ANSWER

print("answer", end=" ", flush=True)  # a piece of its own, as the kernel sends it
print(ANSWER)
```

가중합은 $\\sqrt{{d_k}}$로 나눈다.
"""
SECOND = f"{HEAD}\n(second)=\n# 둘째 장\n\n글이다.\n"


def make_book(folder: Path) -> Course:
    """The course of that book in `folder`, not built yet."""
    shutil.copytree(
        ROOT / "book" / "theme", folder / "book" / "theme", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "_config.yml", folder)
    (folder / "_toc.yml").write_text(
        "format: jb-book\nroot: book/ko/index\nchapters:\n  - file: book/ko/second\n", encoding="utf-8"
    )
    shutil.copy(ROOT / "book" / "references.bib", folder / "book")
    (folder / "book" / "ko").mkdir()
    (folder / "course_lib").mkdir()
    course = Course(root=folder)
    write(course, "course.toml", 'language = "ko"\n')
    write(course, "book/ko/index.md", INDEX)
    write(course, "book/ko/second.md", SECOND)
    write(course, "course_lib/__init__.py", "ANSWER = 41\n")
    return course


def write(course: Course, name: str, text: str) -> None:
    (course.root / name).write_text(text, encoding="utf-8")
