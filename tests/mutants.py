"""Mechanical mutants of a reference: its syntax tree with one node changed, dropped or exchanged."""

from __future__ import annotations

import ast
import copy
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from course_lib.checks import TaskCases, agree, call
from course_lib.grading.bank import Task, code_of, source_of

SECONDS = 3  # of the processor's time, for a case: a mutant that takes longer loops forever
MEMORY = 4 << 30  # bytes of address space that a mutant may add

# An exchange of their arguments changes nothing.
SYMMETRIC = {"maximum", "minimum", "max", "min", "logaddexp", "swapaxes", "transpose"}
OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,  # never the other way: powers of large numbers take all memory
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


def mutants(task: Task) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Each mutant of the task's reference, named by what stood there and what stands there now."""
    tree = ast.parse(source_of(task.reference))
    seen: dict[str, int] = {}
    known = {ast.unparse(tree)}
    for number, node in enumerate(ast.walk(tree)):
        for change in _changes(node, tree):
            mutant = copy.deepcopy(tree)
            place = next(found for n, found in enumerate(ast.walk(mutant)) if n == number)
            shown = _around(place, mutant)
            before = _words(shown)
            change(place)
            text = ast.unparse(ast.fix_missing_locations(mutant))
            if text in known:
                continue
            known.add(text)
            what = f"{before} -> {_words(shown)}"
            seen[what] = seen.get(what, 0) + 1
            name = what if seen[what] == 1 else f"{what} ({seen[what]})"
            yield name, _compiled(text, task)


def survives(mutant: Callable[..., Any], drawn: list[TaskCases]) -> bool:
    """Whether the mutant gives in every case what the reference gives."""
    for cases in drawn:
        for case in cases.cases:
            with _within_time():
                got = call(
                    mutant,
                    cases.required,
                    case.inputs,
                    way=cases.way,
                    forbidden=cases.forbidden,
                    memory=cases.memory,
                )
            if not agree(got, case.right, rtol=cases.rtol, atol=cases.atol):
                return False
    return True


@contextmanager
def bounded_memory() -> Iterator[None]:
    """A mutant that asks for much more than there is gets MemoryError, where the system counts address space."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    try:
        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:  # no Linux: mutants are small all the same
        yield
        return
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


class TooLong(Exception):
    """A mutant does not come to an end."""


@contextmanager
def _within_time() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _compiled(text: str, task: Task) -> Callable[..., Any]:
    made: dict[str, Any] = {}
    namespace = dict(code_of(task.reference).__globals__)
    exec(compile(text, "<mutant>", "exec", dont_inherit=True), namespace, made)
    namespace.update(made)  # a reference that calls itself calls its mutant
    return made[task.reference.__name__]


def _around(place: ast.AST, tree: ast.AST) -> ast.AST:
    """The expression in which a number or name stands: alone, it would not say where."""
    parents = {child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)}
    while isinstance(place, (ast.Constant, ast.Name, ast.UnaryOp, ast.Tuple, ast.keyword)):
        if not isinstance(parents[place], (ast.expr, ast.keyword)):
            break
        place = parents[place]
    return place


def _words(node: ast.AST) -> str:
    if isinstance(node, ast.FunctionDef):
        return "; ".join(ast.unparse(statement).split("\n")[0] for statement in node.body[1:])
    return " ".join(ast.unparse(node).split())


def _changes(node: ast.AST, tree: ast.AST) -> Iterator[Callable[[Any], None]]:
    if isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)) and type(node.op) in OPERATORS:
        yield lambda found: setattr(found, "op", OPERATORS[type(found.op)]())
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Sub, ast.Div, ast.MatMult, ast.Pow)):
        yield lambda found: found.__dict__.update(left=found.right, right=found.left)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OPERATORS:
        yield lambda found: setattr(found, "ops", [OPERATORS[type(found.ops[0])](), *found.ops[1:]])
    if isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant):
        yield lambda found: setattr(found, "op", ast.UAdd())
    if isinstance(node, ast.IfExp):
        yield lambda found: found.__dict__.update(body=found.orelse, orelse=found.body)
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield lambda found: setattr(found, "value", found.value + 1)
        yield lambda found: setattr(found, "value", found.value - 1)
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield lambda found: setattr(found, "value", not found.value)
    if isinstance(node, ast.Call):
        yield from _changes_of_a_call(node)
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield from _other_names(node, tree)
    if isinstance(node, ast.FunctionDef):
        yield from _removals(node)


def _changes_of_a_call(node: ast.Call) -> Iterator[Callable[[Any], None]]:
    for place in range(len(node.keywords)):
        yield lambda found, place=place: found.keywords.pop(place)
    name = ast.unparse(node.func).rpartition(".")[2]
    for place in range(0 if name in SYMMETRIC else len(node.args) - 1):
        yield lambda found, place=place: found.args.insert(place, found.args.pop(place + 1))


def _other_names(node: ast.Name, tree: ast.AST) -> Iterator[Callable[[Any], None]]:
    """The name of another parameter in a parameter's place."""
    names = [argument.arg for argument in ast.walk(tree) if isinstance(argument, ast.arg)]
    if node.id in names:
        for name in dict.fromkeys(names):
            if name not in (node.id, "self"):
                yield lambda found, name=name: setattr(found, "id", name)


def _removals(node: ast.FunctionDef) -> Iterator[Callable[[Any], None]]:
    for place, statement in enumerate(node.body):
        docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if len(node.body) > 1 and not docstring:
            yield lambda found, place=place: found.body.pop(place)
