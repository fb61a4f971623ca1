"""From a Prims graph to one fused Loop IR program.

Every value is *full* (differs along the reduced dimensions) or *row* (one per kept point). Its
level counts the folds it depends on. The program then alternates: row values of a level, then a
loop that computes what folds and outputs of that level need. Full values are recomputed where
they are needed again, except costly ones that fit an output not written yet: these rest there,
or in a buffer where rows are short.
"""

from __future__ import annotations

from aten.loops.addressing import ELEMENT, computed_inputs, is_placed
from aten.loops.program import FOLDS, Block, Instruction, Operand, Program
from aten.prims import Graph, Node


class Analysis:
    """Space, level and cost of every node of a graph."""

    def __init__(
        self, graph: Graph, row_inputs: frozenset[int], full_outputs: frozenset[int]
    ) -> None:
        spread = {id(graph.outputs[place]) for place in full_outputs}
        self.full: dict[int, bool] = {}
        self.level: dict[int, int] = {}
        self.cost: dict[int, int] = {}
        for node in graph.nodes():
            key = id(node)
            operands = [id(operand) for operand in node.inputs]
            if node.prim == "input":
                self.full[key] = node.params["position"] not in row_inputs
            elif node.prim in FOLDS or node.prim == "extent":
                self.full[key] = False
            else:
                self.full[key] = key in spread or any(self.full[operand] for operand in operands)
            folded = 1 if node.prim in FOLDS else 0
            self.level[key] = folded + max((self.level[operand] for operand in operands), default=0)
            if node.prim == "extent":
                self.level[key] = 0
            if node.prim == ELEMENT.name and not self.full[id(node.inputs[1])]:
                # The address of a row is computed once.
                operands = []
            self.cost[key] = 1 + sum(self.cost[operand] for operand in operands)


def schedule(
    graph: Graph,
    *,
    accesses: tuple[str, ...],
    row_inputs: frozenset[int] = frozenset(),
    full_outputs: frozenset[int] = frozenset(),
    reduced_rank: int = 0,
    order: str = "row",
    buffered: bool = False,
    costly: int = 1,
) -> Program:
    """Lay `graph` out as one program.

    `accesses` gives the innermost step of each input, then of each output; `row_inputs` are the
    positions of inputs that do not vary along the reduced dimensions, `full_outputs` those of
    outputs that have an element for each of their points, be they all of one value. If `buffered`,
    no row has more elements than a buffer of the target's; a value of `costly` instructions is not
    computed twice.
    """
    analysis = (
        Analysis(graph, row_inputs, full_outputs)
        if reduced_rank
        else Analysis(graph, frozenset(), frozenset())
    )
    return _Scheduler(graph, accesses, analysis, reduced_rank, order, buffered, costly).run()


class _Scheduler:
    def __init__(
        self,
        graph: Graph,
        accesses: tuple[str, ...],
        analysis: Analysis,
        reduced_rank: int,
        order: str,
        buffered: bool,
        costly: int,
    ) -> None:
        self.graph = graph
        self.costly = costly
        self.buffered = buffered and reduced_rank == 1 and order == "row"
        self.buffers: list[Operand] = []
        self.reduced_rank = reduced_rank
        self.order = order
        self.analysis = analysis
        self.row_values: dict[int, Instruction] = {}
        self.resting: dict[int, Operand] = {}
        # Inputs that are met at computed addresses alone are no values.
        self.windows = {id(node) for node in graph.inputs} - {
            id(one) for node in graph.nodes() for one in computed_inputs(node)
        }
        self.windows -= {id(node) for node in graph.outputs}
        self.inputs = {
            id(node): Operand(f"in{position}", node.dtype, self._space(node), access)
            for position, (node, access) in enumerate(
                zip(graph.inputs, accesses[: len(graph.inputs)], strict=True)
            )
        }
        self.outputs = [
            Operand(f"out{position}", node.dtype, self._space(node), access)
            for position, (node, access) in enumerate(
                zip(graph.outputs, accesses[len(graph.inputs) :], strict=True)
            )
        ]

    def _space(self, node: Node) -> str:
        return "full" if self.analysis.full[id(node)] or not self.reduced_rank else "row"

    def run(self) -> Program:
        blocks = self._map_blocks() if not self.reduced_rank else self._fold_blocks()
        operands = [*self.inputs.values(), *self.outputs]
        name, rank = self.graph.name, self.reduced_rank
        return Program(name, operands, blocks, rank, self.order, self.buffers)

    def _map_blocks(self) -> list[Block]:
        block = Block("row")
        values: dict[int, Instruction] = {}
        for node, operand in zip(self.graph.outputs, self.outputs, strict=True):
            self._write(node, operand, block, values)
        return [block]

    def _fold_blocks(self) -> list[Block]:
        analysis = self.analysis
        nodes = self.graph.nodes()
        last = max(analysis.level[id(node)] for node in nodes)
        blocks: list[Block] = []
        for level in range(last + 1):
            row = Block("row")
            for node in nodes:
                if not analysis.full[id(node)] and analysis.level[id(node)] == level:
                    self._compute_row(node, row)
            for node, operand in zip(self.graph.outputs, self.outputs, strict=True):
                if not analysis.full[id(node)] and analysis.level[id(node)] == level:
                    row.instructions.append(_store(self.row_values[id(node)], operand))
            if row.instructions:
                blocks.append(row)
            loop = self._loop(level, nodes)
            if loop.instructions:
                blocks.append(loop)
        return blocks

    def _loop(self, level: int, nodes: list[Node]) -> Block:
        """The loop between row values of `level` and those of the next."""
        analysis = self.analysis
        block = Block("loop")
        values: dict[int, Instruction] = {}
        folds = [n for n in nodes if n.prim in FOLDS and analysis.level[id(n)] == level + 1]
        results = []
        for fold in folds:
            value = self._compute(fold.inputs[0], block, values)
            results.append(Instruction(fold.prim, (value,), fold.dtype))
            self.row_values[id(fold)] = results[-1]
        for node, operand in zip(self.graph.outputs, self.outputs, strict=True):
            if analysis.full[id(node)] and analysis.level[id(node)] == level:
                self._write(node, operand, block, values)
                self.resting.setdefault(id(node), operand)
        self._rest_costly_values(level, nodes, block, values)
        block.instructions.extend(results)
        return block

    def _write(
        self, node: Node, operand: Operand, block: Block, values: dict[int, Instruction]
    ) -> None:
        """Store an output, at the address that it was given or where the walk is."""
        needed = node.inputs if is_placed(node) else (node,)
        for one in needed:
            self._compute(one, block, values)
        operands = tuple(values[id(one)] for one in needed)
        block.instructions.append(Instruction("store", operands, node.dtype, memory=operand))

    def _rest_costly_values(
        self, level: int, nodes: list[Node], block: Block, values: dict[int, Instruction]
    ) -> None:
        """Park costly values that later loops need in outputs those loops will overwrite, or else
        in a buffer of the kernel's own."""
        analysis = self.analysis
        free = [
            operand
            for node, operand in zip(self.graph.outputs, self.outputs, strict=True)
            if analysis.full[id(node)]
            and analysis.level[id(node)] > level
            and operand not in self.resting.values()
        ]
        for node in reversed(nodes):
            if id(node) not in values or analysis.level[id(node)] != level:
                continue
            if analysis.cost[id(node)] < self.costly or not self._needed_after(node, level, nodes):
                continue
            home = next((operand for operand in free if operand.dtype is node.dtype), None)
            if home is None and self.buffered and node.dtype.kind == "float":
                home = Operand(f"buffer{len(self.buffers)}", node.dtype, "full", "unit")
                self.buffers.append(home)
            elif home is None:
                return
            else:
                free.remove(home)
            block.instructions.append(_store(values[id(node)], home))
            self.resting[id(node)] = home
            return

    def _needed_after(self, node: Node, level: int, nodes: list[Node]) -> bool:
        analysis = self.analysis
        return any(
            any(operand is node for operand in user.inputs)
            and analysis.full[id(user)]
            and analysis.level[id(user)] > level
            for user in nodes
        )

    def _compute_row(self, node: Node, block: Block) -> None:
        key = id(node)
        if key in self.row_values or node.prim == "constant" or key in self.windows:
            return
        if node.prim == "broadcast_in_dim":
            self.row_values[key] = self._row_operand(node.inputs[0], block)
            return
        operands: tuple[Instruction, ...] = ()
        if node.prim != "extent":
            needed = computed_inputs(node)
            operands = tuple(self._row_operand(operand, block) for operand in needed)
        made = self._instruction(node, operands)
        block.instructions.append(made)
        self.row_values[key] = made

    def _row_operand(self, node: Node, block: Block) -> Instruction:
        if node.prim == "constant":
            return self._constant(node, block, self.row_values)
        return self.row_values[id(node)]

    def _compute(self, node: Node, block: Block, values: dict[int, Instruction]) -> Instruction:
        """The instruction for `node` in `block`, computing what it needs first."""
        stack = [node]
        while stack:
            current = stack[-1]
            key = id(current)
            if key in values or self._ready(current, block, values):
                stack.pop()
                continue
            needed = computed_inputs(current)
            waiting = [operand for operand in needed if id(operand) not in values]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            stack.pop()
            if current.prim == "broadcast_in_dim":
                values[key] = values[id(current.inputs[0])]
                continue
            operands = tuple(values[id(operand)] for operand in needed)
            made = self._instruction(current, operands if current.prim != "position" else ())
            block.instructions.append(made)
            values[key] = made
        return values[id(node)]

    def _ready(self, node: Node, block: Block, values: dict[int, Instruction]) -> bool:
        """Take values that need no computing here: row values, constants and parked ones."""
        key = id(node)
        if key in self.row_values and not self.analysis.full[key]:
            values[key] = self.row_values[key]
            return True
        if node.prim == "constant":
            self._constant(node, block, values)
            return True
        if key in self.resting:
            operand = self.resting[key]
            made = Instruction("load", (), operand.dtype, memory=operand)
            block.instructions.append(made)
            values[key] = made
            return True
        return False

    def _constant(self, node: Node, block: Block, values: dict[int, Instruction]) -> Instruction:
        made = Instruction("constant", (), node.dtype, {"value": node.params["value"]})
        block.instructions.append(made)
        values[id(node)] = made
        return made

    def _instruction(self, node: Node, operands: tuple[Instruction, ...]) -> Instruction:
        if node.prim == "input":
            return Instruction("load", (), node.dtype, memory=self.inputs[id(node)])
        if node.prim == ELEMENT.name:
            window = self.inputs[id(node.inputs[0])]
            return Instruction("load", operands, node.dtype, memory=window)
        kept = ("dtype", "rare", "table", "place")
        params = {key: value for key, value in node.params.items() if key in kept}
        return Instruction(node.prim, operands, node.dtype, params)


def _store(value: Instruction, operand: Operand) -> Instruction:
    return Instruction("store", (value,), value.dtype, memory=operand)
