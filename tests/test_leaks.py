"""The leak scan: what is planted, in whatever form and wherever, is found; what stands in public sources is not."""

from __future__ import annotations

import base64
import gzip
import html
import io
import json
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from mini import SOURCE, make_course
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from pypdf import PdfWriter

from course_lib.course import Course, find_course
from course_lib.grading.secret import secret_of
from course_lib.release.leaks import Leak, Private, files_in, find_leaks, private_of
from course_lib.release.unwrap import normal
from course_lib.release.wheel import WHEEL, wheel

ROOT = Path(__file__).parents[1]
LINE = "total = x.sum(axis=axis)"  # of the small course's solution
MISTAKE = "return np.add.reduce(x, axis=axis)"
SECRET = bytes(range(100, 132))


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    course = make_course(tmp_path_factory.mktemp("course"))
    (course.private).mkdir()
    (course.private / "secret").write_bytes(SECRET)
    return course


@pytest.fixture(scope="module")
def private(course: Course) -> Private:
    assert secret_of(course) == SECRET
    return private_of(course)


def notebook(**changes: object) -> bytes:
    cell = {
        "cell_type": "code", "id": "mean", "source": ["x = 1"], "metadata": {"nbgrader": {"grade_id": "mean"}},
        "outputs": [], "execution_count": None,
    }  # fmt: skip
    return json.dumps(
        {"cells": [cell | changes], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    ).encode()


def zipped(name: str, content: bytes, comment: bytes = b"") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
        archive.comment = comment
    return buffer.getvalue()


def packed_over_and_over(content: bytes, times: int) -> bytes:
    for _ in range(times):
        content = zipped("more.zip", content)
    return content


def tarred(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def saved(save: Callable[..., None], *arguments: object, **named: object) -> bytes:
    buffer = io.BytesIO()
    save(buffer, *arguments, **named)
    return buffer.getvalue()


def png_with(text: str) -> bytes:
    info = PngInfo()
    info.add_text("Comment", text, zip=True)
    return saved(lambda file: Image.new("L", (2, 3)).save(file, "png", pnginfo=info))


def pdf_with(text: str, *, attached: bool = False) -> bytes:
    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    if attached:
        writer.add_attachment("notes.txt", text)
    else:
        writer.add_metadata({"/Subject": text})
    return saved(writer.write)


def pdf_showing(text: str) -> bytes:
    """A page with the text on it, written by hand."""
    stream = zipped_stream(
        f"BT /F1 12 Tf 72 720 Td ({text.replace('(', chr(92) + '(').replace(')', chr(92) + ')')}) Tj ET"
    )
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Filter/FlateDecode/Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    body, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(body))
        body += b"%d 0 obj%s endobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"xref\n0 6\n0000000000 65535 f \n%strailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
    return body + end % (table, len(body))


def zipped_stream(text: str) -> bytes:
    return zlib.compress(text.encode())


def spans(text: str) -> str:
    """Code as a highlighter writes it into a page."""
    return " ".join(f'<span class="n">{html.escape(word)}</span>' for word in text.split())


B64 = base64.b64encode(f"def mean(x):\n    {LINE}\n".encode())
LEAKS: dict[str, tuple[str, bytes]] = {
    "plain": ("notes.txt", LINE.encode()),
    "re-indented, with other quotes and spaces": ("notes.txt", b"\t\ttotal=x.sum( axis =axis )"),
    "in a comment of a script": ("app.js", f"/* {LINE} */".encode()),
    "in another case": ("notes.txt", LINE.upper().encode()),
    "of a mistake": ("notes.txt", MISTAKE.encode()),
    "of a body of short lines": ("notes.txt", b"  factor = 2\n  return factor * x\n  factor = 3\n return factor * x"),
    "of a comment that only the instructor sees": ("a.txt", b"# a comment that only the instructor may see"),
    "of the draws": ("a.md", b'return [{"x": rng.normal(size=(3, 5)), "axis": 0}]'),
    "the hidden cell": ("a.py", b'return mark("mini", task, function)'),
    "in a cell": ("mini.ipynb", notebook(source=["def mean(x):\n", f"    {LINE}\n"])),
    "in pieces of one line": ("mini.ipynb", notebook(source=["total = x.s", "um(axis=axis)"])),
    "in a cell's metadata": ("mini.ipynb", notebook(metadata={"nbgrader": {}, "answer": LINE})),
    "an output that was kept": ("mini.ipynb", notebook(outputs=[{"output_type": "stream", "text": ["3.0"]}])),
    "a count that was kept": ("mini.ipynb", notebook(execution_count=3)),
    "an attachment": ("mini.ipynb", notebook(attachments={"a.txt": {"text/plain": "anything"}})),
    "metadata that no exercise has": ("mini.ipynb", notebook(metadata={"nbgrader": {}, "answer": "anything"})),
    "a lower-case marker": ("mini.ipynb", notebook(source=["### begin solution"])),
    "in the notebook's metadata": ("mini.ipynb", notebook().replace(b': {}, "nbf', b': {"x": "y"}, "nbf')),
    "escaped for HTML": ("a.html", html.escape('return [{"x": rng.normal(size=(3, 5)), "axis": 0}]').encode()),
    "highlighted in a page": ("a.html", f"<pre>{spans(LINE)}</pre>".encode()),
    "in an attribute of an element": ("a.html", f'<p data-x="{quote(LINE)}">'.encode()),
    "as a string of JavaScript": ("a.js", ("".join(f"\\x{ord(letter):02x}" for letter in LINE)).encode()),
    "as code points": ("a.js", ("".join(f"\\u{ord(letter):04x}" for letter in LINE)).encode()),
    "in a source map": ("a.js.map", json.dumps({"sourcesContent": [f"f()\n{LINE}\n"]}).encode()),
    "in JSON in JSON": ("a.json", json.dumps({"a": json.dumps({"b": f'"{MISTAKE}"\n'})}).encode()),
    "as a URL": ("a.html", f'<a href="?q={quote(LINE)}">'.encode()),
    "in base64": ("a.js", b'atob("' + B64 + b'")'),
    "in base64, in lines": ("a.txt", base64.encodebytes(f"{LINE}\n".encode() * 5)),
    "in base64 for addresses": ("a.txt", base64.urlsafe_b64encode(LINE.encode()).rstrip(b"=")),
    "packed, in base64": ("a.html", b"<script>x='" + base64.b64encode(gzip.compress(LINE.encode())) + b"'</script>"),
    "in base64 twice": ("a.txt", base64.b64encode(B64)),
    "in hexadecimal": ("a.txt", LINE.encode().hex().encode()),
    "in UTF-16": ("a.txt", LINE.encode("utf-16")),
    "in a Korean encoding": ("a.txt", f"풀이: {LINE}".encode("cp949")),
    "packed": ("a.gz", gzip.compress(LINE.encode())),
    "in a zip": ("kit.zip", zipped("a.txt", LINE.encode())),
    "in a wheel in a zip": ("kit.zip", zipped("a.whl", zipped("b.py", LINE.encode()))),
    "in a tar": ("kit.tgz", tarred("a.txt", LINE.encode())),
    "in a zip's comment": ("kit.zip", zipped("a.txt", b"", comment=LINE.encode())),
    "in the name of a member": ("kit.zip", zipped(f"{LINE}.txt", b"")),
    "in a PDF's page": ("a.pdf", pdf_showing(LINE)),
    "in a PDF's properties": ("a.pdf", pdf_with(LINE)),
    "in a PDF's attachment": ("a.pdf", pdf_with(LINE, attached=True)),
    "in the texts of a picture": ("a.png", png_with(LINE)),
    "in an array of texts": ("a.npz", saved(np.savez_compressed, note=np.array(["x", LINE]))),
    "in an array of bytes": ("a.npz", saved(np.savez, note=np.frombuffer(LINE.encode(), np.uint8))),
    "in an array of numbers": ("a.npy", saved(np.save, np.array([float(ord(letter)) for letter in LINE]))),
    "a bank": ("kit/tasks.py", b""),
    "a file of solutions": ("ps1-Solution.ipynb", b"{}"),
    "a gradebook": ("gradebook.db-journal", b""),
    "compiled code": ("__pycache__/a.cpython-311.pyc", b""),
    "history": (".git/HEAD", b"ref"),
    "a bank in a zip": ("kit.zip", zipped("solutions/ps1/a", b"")),
    "what is packed over and over": ("kit.zip", packed_over_and_over(b"anything", 12)),
    "what nobody can open": ("kit.zip", zipped("a.txt", b"x" * 99)[:60]),
    "the secret": ("a.bin", b"\0\1" + SECRET),
    "half of the secret": ("a.bin", SECRET[16:]),
    "the secret in hexadecimal": ("a.txt", SECRET.hex().encode()),
    "the secret in base64": ("a.txt", b"key = " + base64.b64encode(SECRET)),
    "the secret in base 32": ("a.txt", base64.b32encode(SECRET)),
    "the secret as a string of Python": ("a.py", repr(SECRET.decode("latin-1")).encode()),
    "the secret as numbers": ("a.py", str(list(SECRET)).encode()),
}  # fmt: skip


@pytest.mark.parametrize("kind", LEAKS)
def test_find_leaks_finds(kind: str, private: Private) -> None:
    found = find_leaks(private, [LEAKS[kind]])
    assert found
    assert all(leak.place.startswith(LEAKS[kind][0].split("/")[0]) for leak in found)


def test_find_leaks_names_place_and_kind(private: Private) -> None:
    found = find_leaks(private, [LEAKS["in a wheel in a zip"]])
    assert found == [Leak("kit.zip → a.whl → b.py", "a line of mean (mini)")]
    assert str(found[0]) == "kit.zip → a.whl → b.py: a line of mean (mini)"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("mini.ipynb", notebook()),
        ("a.txt", b"def mean(x: np.ndarray, axis: int = -1) -> np.ndarray:\n    The mean of x over an axis."),
        ("a.txt", b'check("mean", mean)'),
        ("a.txt", b"factor = 2"),
        ("a.txt", "세 배입니다. that is three times".encode()),
        ("resolution.png", png_with("a picture")),
        ("a.npz", saved(np.savez, x=np.random.default_rng(3).normal(size=(7, 11)), y=np.arange(13))),
        ("a.bin", np.random.default_rng(5).bytes(5000)),
        ("a.txt", base64.b64encode(np.random.default_rng(7).bytes(999))),
    ],
)
def test_find_leaks_lets_pass(name: str, content: bytes, private: Private) -> None:
    assert find_leaks(private, [(name, content)]) == []


def test_find_leaks_finds_korean_however_it_is_composed() -> None:
    sentence = "그 Key의 logit이 −∞ 가 되면 weight가 0 이고 Value는 더해지지 않는다."
    private = Private({normal(sentence): "the model answer"})
    for form in ("NFC", "NFD"):
        file = ("a.txt", unicodedata.normalize(form, f"답: {sentence}").encode())
        assert find_leaks(private, [file]) == [Leak("a.txt", "the model answer")]


def test_find_leaks_finds_where_the_course_lies(course: Course, private: Private) -> None:
    link = f"/URI (file://{course.root}/_build/pdf/index.html#masks)".encode()
    assert [leak.what for leak in find_leaks(private, [("a.txt", link)])] == [
        "the path of the course's folder"
    ]


@pytest.mark.parametrize(
    ("page", "shown"),
    [
        ("```{code-cell}\n:tags: [x]\ntotal = 0\n    %s\n```\n", True),
        ("We write `%s` here.\n", False),
        ("```{figure} a.png\n:alt: %s\n```\n", False),
        ("```{code-cell}\nx = 1\n```\n\n<!-- %s -->\n\n```{code-cell}\nx = 2\n```\n", False),
    ],
)
def test_private_of_leaves_out_what_cells_of_the_book_show(page: str, shown: bool, tmp_path: Path) -> None:
    course = make_course(tmp_path)
    (course.root / "book" / "en").mkdir(parents=True)
    (course.root / "book" / "en" / "page.md").write_text(page % LINE, encoding="utf-8")
    private = private_of(course)
    assert (normal(LINE) not in private.texts) is shown
    assert normal(MISTAKE) in private.texts
    assert bool(find_leaks(private, files_in(course.root / "book"))) is not shown


def test_what_students_get_of_the_real_course_holds_no_leak() -> None:
    course = find_course(ROOT)
    private = private_of(course)
    assert len(private.texts) > 1000
    # Wheels that an older release has left in this checkout hold lines that the library has no more.
    files = [(name, content) for name, content in files_in(course.exercises) if not name.endswith(".whl")]
    assert find_leaks(private, [*files, (WHEEL, wheel())]) == []


def test_files_in_does_not_follow_links(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(SOURCE / "course.toml")
    assert list(files_in(tmp_path)) == [("link", str(SOURCE / "course.toml").encode())]
