"""Derives from a program which of its outputs must keep their order.

The result is never stricter than the program's laws, so no right answer is rejected. If a program
does not fix the order of its outputs, only their content is compared.
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

    - Pipeline: one sequence.
    - Query: in order of time; outputs of equal time come in any order.
    - Typed dataflow graph: the type of its last link, ordered per key or unordered. If all outputs
      are emitted at markers and carry their time, they leave in order of time too.
    - DGS program: in order (per key, if keyed) if all kinds that emit depend on each other; otherwise,
      and with events across keys, in no order.

    Args:
        program: The program.
        key_field: Output field that holds the key of a keyed program; None means `key`.

    Raises:
        ModelError: The type cannot be derived; the message names the argument to pass.
    """
    names = program.output.names or ()
    if key_field is not None and key_field not in names:
        raise ModelError(
            f"program {program.name}: key_field is {key_field!r}, which is not a field of the output; "
            f"it has {', '.join(names)}"
        )
    if isinstance(program, Pipeline):
        return OutputType(kinds=(program.name,), depends=always)
    if isinstance(program, Query):
        return _query_output(program)
    if isinstance(program, Dataflow):
        return _dataflow_output(program)
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
            "key: name the field that holds it (key_field=...), or pass the output type (output=...)"
        )
    return OutputType(kinds=(program.name,), depends=same_key, key_field=key_field)


def always(first: Tag, second: Tag) -> bool:
    """Return True: outputs are one sequence."""
    return True


def never(first: Tag, second: Tag) -> bool:
    """Return False: outputs are in no order."""
    return False


def same_key(first: Tag, second: Tag) -> bool:
    """Return whether the keys are equal: outputs are a sequence for each key."""
    return first.key == second.key


def _query_output(query: Query) -> OutputType:
    """Return the output type of a query.

    An output that an operator emits on update is timed up to one window advance after its tuple. It raises
    the watermark of later operators to its own time, so their outputs have the same delay.
    """
    timed = [operator for operator in query.operators if not operator.keeps_time]
    early = [operator for operator in timed if operator.emits_on_update]
    if not early:
        return OutputType(kinds=(query.name,), depends=never, sorted=True)
    window = early[0].window
    if early != timed[:1] or window.size % window.advance:
        raise ModelError(
            f"query {query.name}: operator {early[0].name} emits on update, after other operators or "
            "in windows whose size is not a multiple of their advance; the delay of an output after its "
            "cause cannot be derived: declare it (output=OutputType(...))"
        )
    return OutputType(
        kinds=(query.name,),
        depends=never,
        sorted=True,
        delay=window.advance,
        grid=window.advance,
    )


def _dataflow_output(flow: Dataflow) -> OutputType:
    link, is_sorted = flow.vertices[-1].type, _is_timed_by_markers(flow.vertices[-1])
    if not link.ordered:
        return OutputType(kinds=(flow.name,), depends=never, sorted=is_sorted)
    if link.key is None:
        return OutputType(kinds=(flow.name,), depends=always, sorted=is_sorted)
    return OutputType(kinds=(flow.name,), depends=same_key, key_field=link.key, sorted=is_sorted)


def _is_timed_by_markers(vertex: Vertex) -> bool:
    """Return whether a vertex provably emits only at markers, with the marker's time.

    Reads the source: `on_item` must not use `out`, and `on_marker` only calls `out.emit` with `m.ts`.
    """
    operator = vertex.operator
    if operator is None or operator.on_marker is None:
        return False
    if operator.on_item is not None and not _emits_nothing(operator.on_item):
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
    uses_out_otherwise = len(emits) != sum(name.id == out for name in names)
    assigns_m = any(name.id == m and not isinstance(name.ctx, ast.Load) for name in names)
    return timed and not uses_out_otherwise and not assigns_m


def _emits_nothing(function: Callable[..., Any]) -> bool:
    tree = _definition(function)
    if tree is None:
        return False
    out = tree.args.args[-1].arg
    return not any(isinstance(node, ast.Name) and node.id == out for node in ast.walk(tree))


def _definition(function: Callable[..., Any]) -> ast.FunctionDef | None:
    """Return a function's syntax tree; None without source or with nested functions."""
    function = getattr(function, "py_func", function)
    try:
        tree = ast.parse(dedent(inspect.getsource(function))).body[0]
    except (OSError, SyntaxError, TypeError, ValueError):
        return None
    nested = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    if not isinstance(tree, ast.FunctionDef) or tree.args.vararg is not None:
        return None
    if sum(isinstance(node, nested) for node in ast.walk(tree)) > 1:
        return None
    return tree


def emitting_kinds(program: DGSProgram) -> Kinds:
    """Return the kinds of events on which a program may emit, or a superset.

    Reads the source of `update`: statements below `if event.kind == KIND` belong to that kind.
    """
    all_kinds = frozenset(range(len(program.kinds)))
    return frozenset().union(
        *(_find_emitting_kinds(state.update, all_kinds) for state in program.states)
    )


def _find_emitting_kinds(update: Callable[..., Any], all_kinds: Kinds) -> Kinds:
    function = _definition(update)
    try:
        variables = inspect.getclosurevars(getattr(update, "py_func", update))
    except (TypeError, ValueError):
        return all_kinds
    if function is None or len(function.args.args) != 3:
        return all_kinds
    _, event, out = (argument.arg for argument in function.args.args)
    names = {**variables.globals, **variables.nonlocals}
    return _Reader(event, out, names).emitting(function.body, all_kinds)


class _Reader:
    """Finds the kinds that an event can have at statements that use the emitter."""

    def __init__(self, event: str, out: str, names: dict[str, object]) -> None:
        self._event, self._out, self._names = event, out, names

    def emitting(self, statements: Sequence[ast.stmt], kinds: Kinds) -> Kinds:
        """Return the kinds for which the statements may emit; events of `kinds` can reach the statements."""
        emitting: Kinds = frozenset()
        for statement in statements:
            if not isinstance(statement, ast.If):
                emitting |= kinds if self._uses_emitter(statement) else frozenset()
                continue
            if self._uses_emitter(statement.test):
                emitting |= kinds
            if_true, if_false = self._split(statement.test, kinds)
            emitting |= self.emitting(statement.body, if_true) | self.emitting(
                statement.orelse, if_false
            )
            if isinstance(statement.body[-1], ast.Return):
                kinds = if_false
        return emitting

    def _uses_emitter(self, node: ast.AST) -> bool:
        return any(isinstance(n, ast.Name) and n.id == self._out for n in ast.walk(node))

    def _split(self, test: ast.expr, kinds: Kinds) -> tuple[Kinds, Kinds]:
        """Return the kinds for which a condition can be true, and those for which it can be false."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            if_true, if_false = self._split(test.operand, kinds)
            return if_false, if_true
        if isinstance(test, ast.BoolOp):
            parts = [self._split(part, kinds) for part in test.values]
            if isinstance(test.op, ast.And):
                return frozenset.intersection(*(if_true for if_true, _ in parts)), kinds
            return kinds, frozenset.intersection(*(if_false for _, if_false in parts))
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and self._is_kind(test.left):
            kind = self._constant_value(test.comparators[0])
            if isinstance(kind, int):
                equal, others = kinds & {kind}, kinds - {kind}
                if isinstance(test.ops[0], ast.Eq):
                    return equal, others
                if isinstance(test.ops[0], ast.NotEq):
                    return others, equal
        return kinds, kinds

    def _is_kind(self, node: ast.expr) -> bool:
        return (
            isinstance(node, ast.Attribute)
            and node.attr == "kind"
            and isinstance(node.value, ast.Name)
            and node.value.id == self._event
        )

    def _constant_value(self, node: ast.expr) -> object:
        if isinstance(node, ast.Constant):
            return node.value
        return self._names.get(node.id) if isinstance(node, ast.Name) else None
