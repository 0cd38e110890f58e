"""Which notebooks only compute: whatever of them runs or is called leaves everything else as it was.

Such a notebook needs no copy of its process for each task: one task's work or calls never change what another gives.
The answer comes from the very text that runs, and is given outside of the student's room. It is "no" for all that is
not known to be harmless; that costs time and nothing else.
"""

from __future__ import annotations

import ast
import builtins
import re
import symtable
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from course_lib.grading.fetching import is_fetching

_MODULES = frozenset(
    ("numpy", "numpy.linalg", "math", "itertools", "torch", "torch.nn", "torch.nn.functional", "torch.linalg")
)
_OURS = {"course_lib.checks": frozenset(("load",))}
_BUILTIN_WORDS = """
    abs all any bool complex dict divmod enumerate float frozenset int isinstance iter len list map
    max min next pow print range repr reversed round set slice sorted str sum tuple zip
    ArithmeticError AssertionError Exception IndexError KeyError LookupError NotImplementedError
    RuntimeError TypeError ValueError ZeroDivisionError
    ImportError ModuleNotFoundError
"""
# They compute, look, or change nothing but the object before the dot. What gives memory as others left it is not here
# (empty, pad, the classes of arrays).
_ATTRIBUTE_WORDS = """
    T H mT abs absolute accumulate add all allclose amax amin any append arange argmax argmin
    argpartition argsort array array_equal array_split asarray ascontiguousarray as_tensor astype
    atleast_1d atleast_2d atleast_3d bfloat16 bincount block bmm bool bool_ broadcast_arrays
    broadcast_shapes broadcast_tensors broadcast_to cat ceil chain chunk clamp clip clone
    column_stack combinations concat concatenate contiguous copy cos cosh count_nonzero cpu cumprod
    cumsum detach device diag diagonal diff dim divide dot double dtype einsum eps
    equal errstate exp exp2 expand expand_dims expm1 extend eye failing finfo flatten flip float float16
    float32 float64 floor fmax fmin full full_like functional gather greater greater_equal half
    hstack identity iinfo index indices inf inner insert int int32 int64 is_floating_point isclose
    isfinite isinf isnan isneginf isqrt item items itemsize ix_ keys kron less less_equal linalg
    linspace log log10 log1p log2 log_softmax logaddexp logical_and logical_not logical_or
    logical_xor logsumexp long masked_fill matmul matrix_transpose max maximum mean meshgrid min
    minimum mm mod moveaxis movedim multiply name nan nan_to_num nanmax nanmin nansum ndim
    ndindex newaxis nn no_grad nonzero norm not_equal numel numpy ones ones_like outer
    permutations permute pi pop pow power prod product promote_types ravel reciprocal relu repeat
    repeat_interleave reshape result_type roll rollaxis round rsqrt shape sigmoid sign sin size
    softmax sort split sqrt square squeeze stack std subtract sum swapaxes swapdims take
    take_along_axis tan tanh tensor tensordot tile to tolist topk trace transpose tri tril
    tril_indices triu triu_indices true_divide type_as unbind unflatten unique unsqueeze values var
    vdot view vstack where zeros zeros_like
"""
_BUILTINS, _ATTRIBUTES = frozenset(_BUILTIN_WORDS.split()), frozenset(_ATTRIBUTE_WORDS.split())
_RESERVED = frozenset(("In", "Out", "display", "get_ipython", "sys", *dir(builtins))) - _BUILTINS
# One line that begins with such a word may be a command of IPython, and no Python.
_MAGIC_WORDS = """
    alias alias_magic autoawait autocall automagic bookmark cat cd clear code_wrap colors conda config cp debug
    dhist dirs doctest_mode ed edit env gui hist history killbgscripts ldir less lf lk ll load load_ext loadpy
    logoff logon logstart logstate logstop ls lsmagic lx macro magic mamba man matplotlib micromamba mkdir more
    mv notebook page pastebin pdb pdef pdoc pfile pinfo pinfo2 pip popd pprint precision prun psearch psource
    pushd pwd pycat pylab quickref recall rehashx reload_ext rep rerun reset reset_selective rm rmdir run
    save sc set_env sx system tb time timeit unalias unload_ext uv who who_ls whos xdel xmode
"""
_MAGICS = frozenset(_MAGIC_WORDS.split())
_LONGEST = 100_000  # characters of a notebook's code: reading it costs whoever grades time and memory
# Where IPython sees other lines than Python does, or takes what begins a line for a command or a prompt.
_LINE_ENDS = re.compile("[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_COMMAND = re.compile(r"^[^\S\n]*(?:[%!?]|>>>|\.{3,}:)|\bIn \[\d+\]:", re.MULTILINE)
# As the type of an argument or a result they are only named, and nobody can take them from there.
_TYPES = frozenset(("ndarray", "Tensor"))
_CONTEXTS = frozenset(("errstate", "no_grad"))  # what they set is set back
_FILLED = frozenset(("zeros", "zeros_like", "ones", "ones_like", "full", "full_like"))
_NODES = (
    ast.Module, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.alias, ast.arguments, ast.arg,
    ast.keyword, ast.comprehension, ast.withitem, ast.FunctionDef, ast.Return, ast.Assign, ast.AugAssign,
    ast.AnnAssign, ast.For, ast.While, ast.If, ast.With, ast.Raise, ast.Assert, ast.Import, ast.ImportFrom, ast.Expr,
    ast.Pass, ast.Break, ast.Continue, ast.BoolOp, ast.NamedExpr, ast.BinOp, ast.UnaryOp, ast.Lambda, ast.IfExp,
    ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Compare, ast.Call,
    ast.FormattedValue, ast.JoinedStr, ast.Constant, ast.Attribute, ast.Subscript, ast.Starred, ast.Name, ast.List,
    ast.Tuple, ast.Slice, ast.Try, ast.ExceptHandler,
)  # fmt: skip

_NAMES_A_TYPE = (
    ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.BinOp, ast.BitOr, ast.Constant, ast.expr_context,
)  # fmt: skip


def is_self_contained(sources: Sequence[str], tasks: Collection[str]) -> bool:
    """Whether cells with these sources only define functions that compute, and call them.

    Functions may read each other, modules and constants, but nothing that could change between two calls; and what they
    define of the `tasks` are such functions, not objects that may hold something.
    """
    if sum(map(len, sources)) > _LONGEST:
        return False
    cells = [_look_at(source) for source in sources if not is_fetching(source)]
    if not all(cell.harmless for cell in cells):
        return False
    steady = {name for cell in cells for name in cell.steady}
    changing = {name for cell in cells for name in cell.changing}
    by_cells = {name for cell in cells for name in cell.taken}
    by_functions = {name for cell in cells for name in cell.taken_by_functions}
    return (
        by_cells <= steady | changing | _BUILTINS
        and by_functions <= (steady | _BUILTINS) - changing
        and changing.isdisjoint(tasks)
        # Before the cell that binds it, such a name is the interpreter's; those with underscores always may be.
        and not any(name in _RESERVED or name.startswith("_") for name in steady | changing)
    )


@dataclass(frozen=True)
class _Cell:
    """What one cell's text says: whether each part of it is harmless, and the names that it binds and takes."""

    harmless: bool
    steady: frozenset[str] = frozenset()
    changing: frozenset[str] = frozenset()
    taken: frozenset[str] = frozenset()
    taken_by_functions: frozenset[str] = frozenset()


@lru_cache(maxsize=256)  # most cells of a class are the same: those that were released
def _look_at(source: str) -> _Cell:
    if not _is_plain_python(source):
        return _Cell(False)
    try:
        tree = ast.parse(source)
        types = set(_types(tree))
        if not all(node in types or _harmless(node) for node in ast.walk(tree)):
            return _Cell(False)
        table = symtable.symtable(source, "<cell>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _Cell(False)
    steady, changing = _bound(tree)
    bound = {one.get_name() for one in table.get_symbols() if one.is_assigned() or one.is_imported()}
    if not bound <= steady | changing:
        return _Cell(False)
    inner = frozenset(name for below in _below(table) for name in _taken(below))
    return _Cell(True, frozenset(steady), frozenset(changing), frozenset(_taken(table)), inner)


def _is_plain_python(source: str) -> bool:
    """Whether IPython runs the text as Python would."""
    lines = [line for line in source.split("\n") if line.strip()]
    words = re.findall(r"\w+", lines[0])[:1] if len(lines) == 1 else []
    return not (
        _LINE_ENDS.search(source)
        or _COMMAND.search(source)
        or (lines and lines[0][0].isspace())  # what begins so is moved to the left, all of it
        or not _MAGICS.isdisjoint(words)
    )


def _harmless(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return isinstance(node.ctx, ast.Load) and node.attr in _ATTRIBUTES
    if isinstance(node, ast.arguments):
        defaults = [*node.defaults, *filter(None, node.kw_defaults)]
        return all(_is_constant(default) for default in defaults)
    if isinstance(node, ast.comprehension):
        return not node.is_async
    if isinstance(node, ast.FunctionDef):
        return not node.decorator_list
    if isinstance(node, ast.Call):
        named = {keyword.arg for keyword in node.keywords}
        return None not in named and ("where" not in named or any(map(_is_filled, node.keywords)))
    if isinstance(node, ast.Import):
        return all(alias.name in _MODULES for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        known = _OURS.get(node.module or "", _ATTRIBUTES if node.module in _MODULES else frozenset())
        return node.level == 0 and all(alias.name in known for alias in node.names)
    if isinstance(node, ast.withitem):
        call = node.context_expr
        return (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr in _CONTEXTS
            and node.optional_vars is None
        )
    return isinstance(node, _NODES)


def _types(tree: ast.Module) -> Iterator[ast.AST]:
    """`np.ndarray` and its like in annotations that do nothing but name types."""
    for node in ast.walk(tree):
        annotation = node.returns if isinstance(node, ast.FunctionDef) else getattr(node, "annotation", None)
        parts = list(ast.walk(annotation)) if annotation else []
        if all(isinstance(part, _NAMES_A_TYPE) for part in parts):
            yield from (part for part in parts if isinstance(part, ast.Attribute) and part.attr in _TYPES)


def _is_filled(keyword: ast.keyword) -> bool:
    """Whether an `out` is an array that is made there and then, and holds nothing of others' memory."""
    made = keyword.value
    return (
        keyword.arg == "out"
        and isinstance(made, ast.Call)
        and isinstance(made.func, ast.Attribute)
        and made.func.attr in _FILLED
    )


def _is_constant(node: ast.AST) -> bool:
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def _bound(tree: ast.Module) -> tuple[set[str], set[str]]:
    """The names that a cell binds: to functions, modules and constants, and to what may change in place."""
    steady: set[str] = set()
    changing: set[str] = set()
    for statement in _statements(tree.body):
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            steady |= {alias.asname or alias.name.split(".")[0] for alias in statement.names}
            if isinstance(statement, ast.ImportFrom) and statement.module in _OURS:
                changing |= {alias.asname or alias.name for alias in statement.names}
        elif isinstance(statement, ast.FunctionDef):
            steady.add(statement.name)
        else:
            names = {
                n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
            constant = (
                isinstance(statement, ast.Assign)
                and _is_constant(statement.value)
                and all(isinstance(target, ast.Name) for target in statement.targets)  # *a, b = "ab": a list
            )
            (steady if constant else changing).update(names)
    changing |= {n.name for n in ast.walk(tree) if isinstance(n, ast.ExceptHandler) and n.name}
    return steady, changing


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Those of a cell, and of what it tries."""
    for statement in body:
        if isinstance(statement, ast.Try):
            caught = [inner for handler in statement.handlers for inner in handler.body]
            yield from _statements([*statement.body, *caught, *statement.orelse, *statement.finalbody])
        else:
            yield statement


def _below(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    """The functions in it, and those in them."""
    for inner in table.get_children():
        yield inner
        yield from _below(inner)


def _taken(table: symtable.SymbolTable) -> Iterator[str]:
    """The names that come from outside: of a cell, from other cells and the interpreter; of a function, from cells."""
    for symbol in table.get_symbols():
        if symbol.is_global() or (table.get_type() == "module" and symbol.is_referenced()):
            yield symbol.get_name()
