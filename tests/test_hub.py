"""A JupyterHub with nbgrader's exchange, on loopback: two students fetch, solve, hand in and get their feedback.

What an instructor writes and runs is taken from the page that says it (`where-students-work`), so the recipe is what is
tested. There is no proxy: requests go to each student's own server. As root, the hub has accounts of its own, in a file
that stands in for /etc/passwd there alone; without root both students are one account, as in a hub of containers.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
from mini import DOUBLE, cell_of, edit, released_course
from playwright.sync_api import Browser, expect

from course_lib.course import Course
from course_lib.grading.bubblewrap import RoomError, find_bwrap
from course_lib.grading.notebook import read_notebook
from course_lib.release.notebooks import release

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "book" / "en" / "where-students-work.md"
STUDENTS = {"student-001": 60001, "student-002": 60002}  # accounts of the hub alone
ANSWERS = {
    "student-001": {"double-solution": DOUBLE},
    "student-002": {"double-solution": "def double(x):\n    return 3 * x"},
}
TOKEN = "a-token-of-this-test"
SYSTEM_ACCOUNTS = os.name == "posix" and os.geteuid() == 0

HUB = """
import json
from jupyterhub.proxy import Proxy


class NoProxy(Proxy):
    "Keeps the routes and serves none."

    routes = {}

    async def add_route(self, routespec, target, data):
        self.routes[routespec] = {"routespec": routespec, "target": target, "data": data}
        with open("routes.json", "w") as file:
            json.dump(self.routes, file)

    async def delete_route(self, routespec):
        self.routes.pop(routespec, None)

    async def get_all_routes(self):
        return self.routes


c.JupyterHub.proxy_class = NoProxy
NoProxy.should_start = False
c.JupyterHub.hub_ip = "127.0.0.1"
c.JupyterHub.hub_port = @PORT
c.JupyterHub.bind_url = "http://127.0.0.1:@PORT"
c.JupyterHub.authenticator_class = "dummy"
c.JupyterHub.services = [{"name": "class", "api_token": "@TOKEN"}]
scopes = ["admin:users", "admin:servers", "tokens"]
c.JupyterHub.load_roles = [{"name": "class", "services": ["class"], "scopes": scopes}]
c.Authenticator.allowed_users = @STUDENTS
c.Spawner.environment = {"JUPYTER_CONFIG_PATH": "@CONFIG"}
c.Spawner.args = ["--ServerApp.log_level=WARN"]
c.Spawner.start_timeout = c.Spawner.http_timeout = 120
"""
ONE_ACCOUNT = """
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = "@HOME/{username}"
"""


@dataclass
class Hub:
    """A hub that runs, and the course that hands out and collects through its exchange."""

    folder: Path
    course: Course
    address: str

    def server(self, student: str) -> Server:
        """The student's own server, started as the hub starts it."""
        me = {"Authorization": f"token {TOKEN}"}
        user = f"{self.address}/hub/api/users/{student}"
        requests.post(user, headers=me, timeout=60)
        token = requests.post(f"{user}/tokens", headers=me, timeout=60).json()["token"]
        started = requests.post(f"{user}/server", headers=me, timeout=120)
        running = started.status_code == 400 and "already running" in started.text
        assert running or started.status_code in (201, 202), (self.folder / "hub.log").read_text()[-4000:]
        for _ in range(240):
            if requests.get(user, headers=me, timeout=60).json()["servers"].get("", {}).get("ready"):
                break
            time.sleep(0.5)
        routes = json.loads((self.folder / "routes.json").read_text())
        path = f"/user/{student}/"
        return Server(f"{routes[path]['target']}{path}", token, self.folder / "home" / student)


@dataclass
class Server:
    """A student's Jupyter server, and what nbgrader's menu in JupyterLab asks of it."""

    address: str
    token: str
    home: Path

    def ask(self, method: str, path: str, **options: Any) -> Any:
        headers = {"Authorization": f"token {self.token}"}
        answer = requests.request(method, f"{self.address}{path}", headers=headers, timeout=120, **options)
        assert answer.status_code in (200, 201), f"{path}: {answer.status_code} {answer.text[:500]}"
        return answer.json()

    def exchange(self, action: str) -> list[dict[str, Any]]:
        """Presses a button of the assignment list; what the list shows then."""
        data = {"course_id": "attention", "assignment_id": "mini"}
        listed = self.ask("POST", f"assignments/{action}", data=data)
        assert listed["success"], listed["value"]
        value: list[dict[str, Any]] = listed["value"]
        return value

    def solve(self, sources: dict[str, str]) -> None:
        """Opens the notebook, writes into cells, and saves it."""
        notebook = self.ask("GET", "api/contents/mini/mini.ipynb")
        for cell in notebook["content"]["cells"]:
            cell["source"] = sources.get(cell["id"], cell["source"])
        self.ask("PUT", "api/contents/mini/mini.ipynb", json=notebook)

    def failing(self) -> list[str]:
        """What nbgrader's Validate says fails."""
        found = self.ask("POST", "assignments/validate", data={"path": "mini/mini.ipynb"})["value"]
        return [cell["source"].splitlines()[-1] for cell in found.get("failed", [])]

    def feedback(self) -> str:
        [page] = (self.home / "mini" / "feedback").rglob("*.html")
        return page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    with tempfile.TemporaryDirectory(prefix="hub-") as scratch:
        folder = Path(scratch)
        folder.chmod(0o755)  # the students' accounts pass through
        course = a_course(folder)
        make_homes(folder)
        port = free_port()
        write_settings(folder, port)
        with (folder / "hub.log").open("wb") as log:
            process = subprocess.Popen(
                command(folder), cwd=folder, env=surroundings(), stdout=log, stderr=log
            )
        try:
            wait_for(f"http://127.0.0.1:{port}/hub/api", process, folder / "hub.log")
            yield Hub(folder, course, f"http://127.0.0.1:{port}")
        finally:
            process.terminate()  # and with it the students' servers
            process.wait(timeout=60)


def a_course(folder: Path) -> Course:
    course = released_course(folder / "course")
    shutil.copy(ROOT / "nbgrader_config.py", course.root)
    release(course, "mini")
    course.root.chmod(0o700)
    return course


def make_homes(folder: Path) -> None:
    for student, uid in STUDENTS.items():
        home = folder / "home" / student
        home.mkdir(parents=True)
        home.chmod(0o700)
        if SYSTEM_ACCOUNTS:
            os.chown(home, uid, uid)
    accounts = [f"{name}:x:{uid}:{uid}::{folder}/home/{name}:/bin/sh\n" for name, uid in STUDENTS.items()]
    groups = [f"{name}:x:{uid}:\n" for name, uid in STUDENTS.items()]
    (folder / "passwd").write_text(Path("/etc/passwd").read_text() + "".join(accounts))
    (folder / "group").write_text(Path("/etc/group").read_text() + "".join(groups))


def write_settings(folder: Path, port: int) -> None:
    """The two files of the page, with the folders and ports of this test."""
    (folder / "exchange").mkdir()
    (folder / "exchange").chmod(0o777)
    settings = folder / "etc" / "nbgrader_config.py"
    settings.parent.mkdir()
    settings.write_text(block("nbgrader_config.py"), encoding="utf-8")
    edit(settings, "/srv/nbgrader/exchange", str(folder / "exchange"))
    if not SYSTEM_ACCOUNTS:  # nbgrader asks the system who somebody is, and here all are one
        named = 'import os\nc.CourseDirectory.student_id = os.environ.get("JUPYTERHUB_USER", "*")\n'
        settings.write_text(settings.read_text() + named)
    text = block("jupyterhub_config.py") + HUB + ("" if SYSTEM_ACCOUNTS else ONE_ACCOUNT)
    for mark, value in {
        "@PORT": port, "@TOKEN": TOKEN, "@STUDENTS": set(STUDENTS), "@CONFIG": folder / "etc", "@HOME": folder / "home",
    }.items():  # fmt: skip
        text = text.replace(mark, str(value))
    (folder / "jupyterhub_config.py").write_text(text, encoding="utf-8")


def block(file: str) -> str:
    """The page's text for a file: the block of code that begins with its name."""
    found = re.search(rf"```python\n# \S*{re.escape(file)}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert found, f"{PAGE.name} does not show {file}"
    return found[1]


def recipe(label: str) -> list[str]:
    """The instructor's commands on the page, below that label."""
    text = PAGE.read_text(encoding="utf-8").split(f"({label})=")[1]
    lines = re.search(r"```sh\n(.*?)```", text, re.S)[1].splitlines()  # type: ignore[index]
    return [line.split("  #")[0].replace("ps1", "mini") for line in lines if line.strip()]


def command(folder: Path) -> list[str]:
    started = [sys.executable, "-m", "jupyterhub", "-f", str(folder / "jupyterhub_config.py")]
    if not SYSTEM_ACCOUNTS:
        return started
    try:
        bubblewrap = find_bwrap()
    except RoomError as missing:
        pytest.skip(f"accounts for this test alone: {missing}")
    files = [
        each for name in ("passwd", "group") for each in ("--ro-bind", str(folder / name), f"/etc/{name}")
    ]
    options = ["--dev-bind", "/", "/", *reachable(), *files, "--cap-add", "ALL"]
    # With the hub, all of its servers end.
    options += ["--unshare-pid", "--proc", "/proc", "--die-with-parent"]
    return [bubblewrap, *options, *started]


def reachable() -> list[str]:
    """Opens the way to this interpreter where it lies in somebody's home: an empty folder, and in it what is needed."""
    needed = [Path(sys.base_prefix).resolve(), ROOT]
    closed = {
        parent for folder in needed for parent in folder.parents if not parent.stat().st_mode & stat.S_IXOTH
    }
    outermost = [folder for folder in closed if not closed & {*folder.parents}]
    inside = [folder for folder in needed if closed & {*folder.parents}]
    covers = [word for folder in outermost for word in ("--perms", "0755", "--tmpfs", str(folder))]
    covers += [
        word
        for folder in inside
        for parent in reversed(folder.parents)
        if {*outermost} & {*parent.parents}
        for word in ("--perms", "0755", "--dir", str(parent))
    ]
    return [*covers, *(word for folder in inside for word in ("--ro-bind", str(folder), str(folder)))]


def surroundings() -> dict[str, str]:
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def free_port() -> int:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return int(place.getsockname()[1])


def wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(1200):
        try:
            if requests.get(address, timeout=10).ok:
                return
        except requests.ConnectionError:
            time.sleep(0.25)
        if process.poll() is not None:
            break
    raise AssertionError(log.read_text(encoding="utf-8", errors="replace")[-4000:])


def run(hub: Hub, line: str) -> str:
    """Runs a command of the page in the course's folder, as its instructor."""
    environment = {**surroundings(), "JUPYTER_CONFIG_PATH": str(hub.folder / "etc")}
    done = subprocess.run(
        ["sh", "-c", line], cwd=hub.course.root, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def test_a_set_goes_out_through_the_exchange_and_comes_back_with_feedback(hub: Hub) -> None:
    hand_out, *collect_to_feedback = [*recipe("hub-hand-out"), *recipe("hub-collect")]
    run(hub, hand_out)
    servers = {student: hub.server(student) for student in STUDENTS}
    for student, server in servers.items():
        listed = server.ask("GET", "assignments", params={"course_id": "attention"})["value"]
        assert [(each["assignment_id"], each["status"]) for each in listed] == [("mini", "released")]
        server.exchange("fetch")
        server.solve(ANSWERS[student])
        submitted = [each for each in server.exchange("submit") if each["status"] == "submitted"]
        assert [each["assignment_id"] for each in submitted] == ["mini"]
    first, second = servers.values()
    assert first.failing() == ['check("mean", mean)', "✎"]
    assert second.failing() == ['check("double", double)', 'check("mean", mean)', "✎"]
    for line in collect_to_feedback:
        run(hub, line)
    for server in servers.values():
        server.exchange("fetch_feedback")
    assert "student-001" in first.feedback()
    assert "that is three times" in second.feedback()
    assert "student-001" not in second.feedback()
    assert "student-002" not in first.feedback()
    assert "that is three times" not in first.feedback()


@pytest.mark.skipif(not SYSTEM_ACCOUNTS, reason="without root both students are one account")
def test_students_of_a_hub_see_nothing_of_each_other(hub: Hub) -> None:
    """Runs after the class above: what it left in the exchange is there to be looked at."""
    course = hub.folder / "exchange" / "attention"
    assert len(list((course / "inbound").iterdir())) == len(list((course / "feedback").iterdir())) == 2
    places = [
        course / "inbound", course / "feedback", hub.folder / "home" / "student-001", hub.course.root,
    ]  # fmt: skip
    for place in places:
        looked = subprocess.run(
            ["ls", place], user=STUDENTS["student-002"], group=STUDENTS["student-002"], extra_groups=[],
            capture_output=True, text=True,
        )  # fmt: skip
        assert looked.returncode != 0
        assert "Permission denied" in looked.stderr


def test_a_second_submission_is_taken_when_asked(hub: Hub) -> None:
    second = hub.server("student-002")
    second.solve(ANSWERS["student-001"])
    second.exchange("submit")
    assert "--update" in PAGE.read_text(encoding="utf-8")
    for line in ("nbgrader collect mini --update", "course grade mini"):
        run(hub, line)
    notebook = read_notebook(hub.course.root / "autograded" / "student-002" / "mini" / "mini.ipynb")
    assert cell_of(notebook, "double-solution").source == ANSWERS["student-001"]["double-solution"]


def test_the_gradebook_has_the_marks_of_both(hub: Hub) -> None:
    notebook = read_notebook(hub.course.root / "autograded" / "student-001" / "mini" / "mini.ipynb")
    assert cell_of(notebook, "double-solution").source == ANSWERS["student-001"]["double-solution"]
    marks = run(hub, "course export mini --to csv --out marks.csv && cat marks.csv")
    assert "student-001" in marks
    assert "student-002" in marks


def test_a_student_fetches_validates_and_submits_by_the_menu(hub: Hub, browser: Browser) -> None:
    """In JupyterLab, where the page says it is; the last of these tests, since it hands in once more."""
    student = hub.server("student-001")
    shutil.rmtree(student.home / "mini")  # then the set can be fetched again
    inbound = hub.folder / "exchange" / "attention" / "inbound"
    before = {each.name for each in inbound.iterdir()}
    page = browser.new_page(extra_http_headers={"Authorization": f"token {student.token}"})
    page.set_default_timeout(120_000)
    page.goto(f"{student.address}lab")
    page.get_by_role("menuitem", name="Nbgrader").click()
    page.get_by_role("menuitem", name="Assignment List").click()
    page.get_by_role("button", name="Fetch", exact=True).click()
    submit = page.get_by_role("button", name="Submit", exact=True)
    expect(submit).to_be_visible()
    assert (student.home / "mini" / "mini.ipynb").is_file()
    student.solve(ANSWERS["student-002"])
    page.locator("a.assignment-notebooks-link", has_text="mini").first.click()
    page.get_by_role("button", name="Validate", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text('check("double", double)')
    page.get_by_role("dialog").get_by_role("button").last.click()
    with page.expect_response("**/assignments/submit*") as answered:
        submit.click()
    assert answered.value.ok
    [new] = {each.name for each in inbound.iterdir()} - before
    assert new.startswith("student-001+mini+")
    page.close()
