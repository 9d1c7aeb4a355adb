"""What a program alone says of its answer: which outputs must come in which order.

It is never stricter than the program's laws, so that no right answer is refused; where a program
does not say in which order its outputs come, only their content is compared.
"""

import ast
import inspect
from collections.abc import Callable, Sequence
from textwrap import dedent
from typing import Any

from streamlab.workloads.model.dataflow import Dataflow, Vertex
from streamlab.workloads.model.dgs.program import DGSProgram
from streamlab.workloads.model.errors import ModelError
from streamlab.workloads.model.operators.program import Query
from streamlab.workloads.model.pipeline.program import Pipeline
from streamlab.workloads.model.streams.tag import Tag
from streamlab.workloads.model.workload import OutputType, Program

Kinds = frozenset[int]


def inferred_output(program: Program, key_field: str | None = None) -> OutputType:
    """Return the type of a program's output.

    - A pipeline's outputs are a sequence.
    - A query's leave in order of time; those of one time come in any order.
    - A typed dataflow graph's have the type of what leaves it: in order for each key, or in none.
      Where all are given at markers and timed by them they leave in order of time, too: those of a
      block before those of the next.
    - Of a program with dependency-guided synchronization outputs are in order, for each key of a
      keyed one, when the kinds that emit depend on each other; else, and with events across keys,
      they are in no order.

    Args:
        program: it.
        key_field: the output field that holds the key of a keyed program; None: `key`.

    Raises:
        ModelError: it cannot be told; the message says what to give.
    """
    names = program.output.names or ()
    if key_field is not None and key_field not in names:
        raise ModelError(
            f"program {program.name}: key_field is {key_field!r}, which is no field of the output; "
            f"it has {', '.join(names)}"
        )
    if isinstance(program, Pipeline):
        return OutputType(kinds=(program.name,), depends=always)
    if isinstance(program, Query):
        return _of_query(program)
    if isinstance(program, Dataflow):
        return _of_dataflow(program)
    emitting = emitting_kinds(program)
    if program.across or not all(
        (a, b) in program.dependent_kinds() for a in emitting for b in emitting
    ):
        return OutputType(kinds=(program.name,), depends=never)
    if not program.keyed:
        return OutputType(kinds=(program.name,), depends=always)
    key_field = key_field or "key"
    if key_field not in names:
        raise ModelError(
            f"program {program.name} is keyed, and its output ({', '.join(names)}) has no field "
            "key: say which field holds it (key_field=...), or what depends on what (output=...)"
        )
    return OutputType(kinds=(program.name,), depends=same_key, key_field=key_field)


def always(first: Tag, second: Tag) -> bool:
    """Outputs are one sequence."""
    return True


def never(first: Tag, second: Tag) -> bool:
    """Outputs are in no order."""
    return False


def same_key(first: Tag, second: Tag) -> bool:
    """Outputs are a sequence for each key."""
    return first.key == second.key


def _of_query(query: Query) -> OutputType:
    """Return the type: what is emitted on a tuple is later than it by up to a window advance."""
    early = [operator for operator in query.operators if operator.emits_on_update]
    if not early:
        return OutputType(kinds=(query.name,), depends=never, sorted=True)
    window = early[0].window
    if len(query.operators) > 1 or window.size % window.advance:
        raise ModelError(
            f"query {query.name}: operator {early[0].name} emits on update, behind others or in "
            "windows whose size is no multiple of their advance, so that it cannot be told how "
            "much later than its cause an output is timed: say so (output=OutputType(...))"
        )
    return OutputType(
        kinds=(query.name,),
        depends=never,
        sorted=True,
        delay=window.advance,
        grid=window.advance,
    )


def _of_dataflow(flow: Dataflow) -> OutputType:
    given, by_marker = flow.vertices[-1].type, _timed_by_markers(flow.vertices[-1])
    if not given.ordered:
        return OutputType(kinds=(flow.name,), depends=never, sorted=by_marker)
    if given.key is None:
        return OutputType(kinds=(flow.name,), depends=always, sorted=by_marker)
    return OutputType(kinds=(flow.name,), depends=same_key, key_field=given.key, sorted=by_marker)


def _timed_by_markers(vertex: Vertex) -> bool:
    """Return whether a vertex is seen to give pairs at markers only, each with the marker's time.

    It is read from the functions: `on_item` gives nothing, `on_marker` by `out.emit` with `m.ts`.
    """
    operator = vertex.operator
    if operator is None or operator.on_marker is None:
        return False
    if operator.on_item is not None and not _gives_nothing(operator.on_item):
        return False
    function = _definition(operator.on_marker)
    if function is None:
        return False
    m, out = (argument.arg for argument in function.args.args[-2:])
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    emits = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == f"{out}.emit"
    ]
    time = 0 if vertex.type.key is None else 1
    timed = all(
        len(emit.args) > time
        and not any(isinstance(argument, ast.Starred) for argument in emit.args[:time])
        and ast.unparse(emit.args[time]) == f"{m}.ts"
        for emit in emits
    )
    other = len(emits) != sum(name.id == out for name in names)
    changed = any(name.id == m and not isinstance(name.ctx, ast.Load) for name in names)
    return timed and not other and not changed


def _gives_nothing(function: Callable[..., Any]) -> bool:
    found = _definition(function)
    if found is None:
        return False
    out = found.args.args[-1].arg
    return not any(isinstance(node, ast.Name) and node.id == out for node in ast.walk(found))


def _definition(function: Callable[..., Any]) -> ast.FunctionDef | None:
    """Return a function as it was written; None: that is not known, or it has others in it."""
    function = getattr(function, "py_func", function)
    try:
        found = ast.parse(dedent(inspect.getsource(function))).body[0]
    except (OSError, SyntaxError, TypeError, ValueError):
        return None
    within = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    if not isinstance(found, ast.FunctionDef) or found.args.vararg is not None:
        return None
    if sum(isinstance(node, within) for node in ast.walk(found)) > 1:
        return None
    return found


def emitting_kinds(program: DGSProgram) -> Kinds:
    """Return the kinds of events on which a program may emit; too many rather than too few.

    It is read from `update`: what stands below `if event.kind == KIND` belongs to that kind.
    """
    every = frozenset(range(len(program.kinds)))
    return frozenset().union(*(_emitting(state.update, every) for state in program.states))


def _emitting(update: Callable[..., Any], every: Kinds) -> Kinds:
    function = _definition(update)
    try:
        known = inspect.getclosurevars(getattr(update, "py_func", update))
    except (TypeError, ValueError):
        return every
    if function is None or len(function.args.args) != 3:
        return every
    _, event, out = (argument.arg for argument in function.args.args)
    return _Reader(event, out, {**known.globals, **known.nonlocals}).emitting(function.body, every)


class _Reader:
    """Reads of which kinds an event can be at a statement that uses the emitter."""

    def __init__(self, event: str, out: str, known: dict[str, Any]) -> None:
        self._event, self._out, self._known = event, out, known

    def emitting(self, statements: Sequence[ast.stmt], kinds: Kinds) -> Kinds:
        found: Kinds = frozenset()
        for statement in statements:
            if not isinstance(statement, ast.If):
                found |= kinds if self._uses(statement) else frozenset()
                continue
            if self._uses(statement.test):
                found |= kinds
            yes, no = self._split(statement.test, kinds)
            found |= self.emitting(statement.body, yes) | self.emitting(statement.orelse, no)
            if isinstance(statement.body[-1], ast.Return):
                kinds = no
        return found

    def _uses(self, node: ast.AST) -> bool:
        return any(isinstance(n, ast.Name) and n.id == self._out for n in ast.walk(node))

    def _split(self, test: ast.expr, kinds: Kinds) -> tuple[Kinds, Kinds]:
        """Return the kinds for which a condition can be true, and those for which it can fail."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            yes, no = self._split(test.operand, kinds)
            return no, yes
        if isinstance(test, ast.BoolOp):
            parts = [self._split(part, kinds) for part in test.values]
            if isinstance(test.op, ast.And):
                return frozenset.intersection(*(yes for yes, _ in parts)), kinds
            return kinds, frozenset.intersection(*(no for _, no in parts))
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and self._is_kind(test.left):
            kind = self._constant(test.comparators[0])
            if isinstance(kind, int):
                its, others = kinds & {kind}, kinds - {kind}
                if isinstance(test.ops[0], ast.Eq):
                    return its, others
                if isinstance(test.ops[0], ast.NotEq):
                    return others, its
        return kinds, kinds

    def _is_kind(self, node: ast.expr) -> bool:
        return (
            isinstance(node, ast.Attribute)
            and node.attr == "kind"
            and isinstance(node.value, ast.Name)
            and node.value.id == self._event
        )

    def _constant(self, node: ast.expr) -> object:
        if isinstance(node, ast.Constant):
            return node.value
        return self._known.get(node.id) if isinstance(node, ast.Name) else None
