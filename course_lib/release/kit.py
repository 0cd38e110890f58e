"""The student's kit: a zip for each problem set and language, with all that a student needs besides Python."""

from __future__ import annotations

from pathlib import Path

from course_lib.course import LANGUAGES, Course, CourseError
from course_lib.release.archive import packed
from course_lib.release.notebooks import CASES, require_bank
from course_lib.release.wheel import WHEEL, requirements, wheel


def write_kits(course: Course, problem_sets: list[str], folder: Path) -> list[Path]:
    """Writes PS-LANGUAGE.zip for each language of each problem set, as last released; returns their paths.

    The same release gives the same bytes. CourseError where one was not released.
    """
    kits = {
        f"{name}-{language}.zip": kit(course, name, language)
        for name, language in _released(course, problem_sets)
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in kits.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in kits]


def kit(course: Course, problem_set: str, language: str) -> bytes:
    """The zip: notebook, cases, the library as a wheel, requirements and a page that says how to begin."""
    exercise = course.exercises / language / problem_set
    modules = require_bank(course.solutions / problem_set).modules
    notebook = f"{problem_set}.ipynb"
    members = {
        notebook: (exercise / notebook).read_bytes(),
        CASES: (exercise / CASES).read_bytes(),
        WHEEL: wheel(),
        "requirements.txt": requirements(modules).encode(),
        "README.txt": _readme(course, problem_set, language, modules).encode(),
    }
    return packed(sorted(members.items()))


def _released(course: Course, problem_sets: list[str]) -> list[tuple[str, str]]:
    """The pairs of problem set and language that there are."""
    pairs = []
    for name in problem_sets:
        found = [each for each in LANGUAGES if (course.exercises / each / name / CASES).is_file()]
        if not found:
            raise CourseError(f"{name} is not in {course.exercises}. Run: course release {name}")
        pairs += [(name, language) for language in found]
    return pairs


def install_steps(language: str, notebook: str) -> str:
    """What one runs in a kit's folder, on each system, until the notebook opens."""
    return _STEPS[language] + _COMMANDS.format(notebook=notebook)


def torch_note(language: str, modules: tuple[str, ...]) -> str:
    """What a page on installing says of Torch; empty where a problem set does without."""
    return _README[language]["torch"] if "torch" in modules else ""


def _readme(course: Course, problem_set: str, language: str, modules: tuple[str, ...]) -> str:
    text = _README[language]
    colab = "fetched" if course.exercise_address(language, problem_set) else "upload"
    note = torch_note(language, modules)
    steps = text["first"] * bool(note) + install_steps(language, f"{problem_set}.ipynb")
    lines = [text[part].format(ps=problem_set, wheel=WHEEL, steps=steps) for part in ("begin", colab, "end")]
    lines.insert(1, note)
    if course.site:
        lines.append(text["book"].format(site=course.address(language)))
    return "\n".join(filter(None, lines))


_STEPS = {
    "ko": """\
Python 3.11, 3.12, 3.13 가운데 하나가 필요합니다. macOS에 들어 있는 것은 오래됐으니 python.org에서 설치하고,
Debian과 Ubuntu에서는 먼저 sudo apt install python3-venv를 실행하세요. Python이 여럿이라면 아래의
py 대신 py -3.13, python3 대신 python3.13처럼 고르세요.

터미널을 이 폴더에서 열고 차례로 실행하세요.

""",
    "en": """\
You need Python 3.11, 3.12 or 3.13. The one that comes with macOS is too old: install one from
python.org. On Debian and Ubuntu, first run sudo apt install python3-venv. Where you have several,
choose one: py -3.13 in place of py below, or python3.13 in place of python3.

Open a terminal in this folder and run, one after the other:

""",
}
_COMMANDS = """\
  Windows        py -m venv .venv
                 .venv\\Scripts\\python -m pip install -r requirements.txt
                 .venv\\Scripts\\jupyter lab {notebook}

  macOS, Linux   python3 -m venv .venv
                 .venv/bin/python -m pip install -r requirements.txt
                 .venv/bin/jupyter lab {notebook}
"""
_README = {
    "ko": {
        "begin": """\
문제집 {ps}

이 폴더에는 노트북 {ps}.ipynb, 그 노트북의 check가 읽는 cases.npz, 책의 라이브러리
{wheel}, 설치할 것을 적은 requirements.txt가 있습니다.
zip은 먼저 모두 푸세요. zip 안에서 바로 연 노트북은 나머지를 찾지 못합니다.


내 컴퓨터에서 (Windows, macOS, Linux)

{steps}
다음부터는 마지막 줄만 실행하면 됩니다. 이 .venv 하나로 다른 문제집도 풀 수 있습니다:
그 폴더에서 둘째 줄부터, .venv 대신 이 폴더의 것을 (예: ../{ps}-ko/.venv) 써서 실행하세요.
""",
        "upload": """
Colab에서

1. 메뉴 File > Upload notebook에서 {ps}.ipynb를 올립니다.
2. 왼쪽의 폴더 아이콘을 누르고 cases.npz와 {wheel} 파일을 끌어다 놓습니다.
3. 새 셀에서 실행합니다:  %pip install {wheel}

올린 파일은 세션이 끝나면 사라집니다. 그때는 2와 3을 다시 하세요.
""",
        "fetched": """
Colab에서

메뉴 File > Upload notebook에서 {ps}.ipynb를 올립니다. 나머지는 노트북의 첫 코드 셀이 받아 옵니다.
세션이 새로 시작되면 그 셀부터 다시 실행하세요.
""",
        "end": """
시작과 제출

노트북을 위에서부터 실행하세요. 준비가 됐는지 첫 셀이 한 줄로 알려 줍니다.
과제의 셀을 완성하고 바로 아래의 check 셀을 실행하세요. 제출하는 것은 {ps}.ipynb 하나입니다.
다른 문제집은 다른 폴더에 푸세요: cases.npz는 문제집마다 다릅니다.
""",
        "torch": """
PyTorch

requirements.txt가 PyTorch도 설치합니다. Linux에서는 수 GB의 CUDA 판이 옵니다. GPU가 없다면
pytorch.org의 Get Started에서 CPU를 고르고, 거기 나오는 --index-url 뒤의 주소로 먼저 설치하세요:

  .venv/bin/python -m pip install torch --index-url 주소

Intel 프로세서를 쓰는 Mac과 Windows의 ARM64용 Python에는 새 PyTorch가 없어 설치하지 않습니다. PyTorch가
필요하면 Colab에서 푸세요. ARM 프로세서의 Windows라면 python.org의 Windows installer (64-bit)도 됩니다.
""",
        "first": "Linux에서 GPU 없이 쓴다면, 둘째 줄을 실행하기 전에 아래의 PyTorch를 보세요.\n\n",
        "book": "\n책: {site}\n",
    },
    "en": {
        "begin": """\
Problem set {ps}

This folder holds the notebook {ps}.ipynb; cases.npz, which its checks read; the library of the
book, {wheel}; and requirements.txt, which says what to install.
Unpack the whole zip first: a notebook that is opened inside of it doesn't find the rest.


On your own machine (Windows, macOS, Linux)

{steps}
From the second time on, the last line is enough. This .venv serves the other problem sets, too:
in their folders, begin with the second line, and write the path of this one (../{ps}-en/.venv,
say) in place of .venv.
""",
        "upload": """
In Colab

1. File > Upload notebook: {ps}.ipynb.
2. Click the folder icon on the left, and drag cases.npz and {wheel} there.
3. In a new cell, run:  %pip install {wheel}

What you uploaded is gone when the session ends. Then do 2 and 3 again.
""",
        "fetched": """
In Colab

File > Upload notebook: {ps}.ipynb. The notebook's first code cell gets the rest.
When a new session begins, run it again.
""",
        "end": """
To begin, and to hand in

Run the notebook from the top: its first cell says in one line whether all is in place.
Complete a task's cell, then run the check cell below it. Hand in {ps}.ipynb, and nothing else.
Keep each problem set in a folder of its own: each has another cases.npz.
""",
        "torch": """
PyTorch

requirements.txt installs PyTorch, too. On Linux that is a CUDA build of several gigabytes.
Without a GPU, choose CPU on pytorch.org's page Get Started, and before requirements.txt install
from the address that it prints after --index-url:

  .venv/bin/python -m pip install torch --index-url ADDRESS

For a Mac with an Intel processor, and for the ARM64 Python of Windows, there is no recent
PyTorch, and none is installed: where you need it, work in Colab. On Windows with an ARM
processor, python.org's Windows installer (64-bit) will do, too.
""",
        "first": "On Linux without a GPU, see PyTorch below before you run the second line.\n\n",
        "book": "\nThe book: {site}\n",
    },
}
