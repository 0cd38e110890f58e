# ruff: noqa
# kind: markup in the feedback
# attack: pictures attached to words: a JPEG of 65 535 by 65 535 pixels, a GIF and a WebP under its name, a drawing, broken base64
# status: graded
import base64

from course_lib.grading.notebook import unchecked_cell, write_notebook

JPEG = b"\xff\xd8\xff\xc0\0\x0b\x08\xff\xff\xff\xff\x01\x01\x11\0\xff\xda\0\x08\x01\x01\0\0\x3f\0\0\xff\xd9"
GIF = b"GIF89a\xff\xff\xff\xff\0\0\0,\0\0\0\0\xff\xff\xff\xff\0\x02\0;"
WEBP = b"RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0\x2f\xff\xff\xff\x0f\x07\x10\x11\x11\x88\x88\x88\x08\0"
SVG = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'><style>@import url(//example.org)</style></svg>"


def hand_in(folder, notebook):
    cell = unchecked_cell("markdown", "", {})
    cell["id"] = "pictures"
    cell["attachments"] = {}
    for kind in ("image/jpeg", "image/png", "image/svg+xml", "text/html"):
        for number, content in enumerate((JPEG, GIF, WEBP, SVG)):
            text = base64.b64encode(content).decode()
            name = f"{number}-{kind[-3:]}.jpg"
            cell["attachments"][name] = {kind: text}
            cell["attachments"][f"broken-{name}"] = {kind: f'{text}"><script>alert(1)</script>'}
            cell["source"] += f"![x](attachment:{name}) <img src='data:{kind};base64,{text}'>\n"
    notebook.cells.append(cell)
    write_notebook(notebook, folder / "mini.ipynb")
