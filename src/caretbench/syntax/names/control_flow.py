"""Control-flow edges of branches, loops, ``try`` statements and jumps.

Nodes are known by the roles of :mod:`caretbench.syntax.names.node_roles`, so that the code fits every grammar.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import tree_sitter

from caretbench.syntax.names.symbols import FlowGraph, type_name


class ControlFlow(ABC):
    """Base class of a tree walk: handles control-flow constructs. Subclasses define how nodes are visited."""

    flow: FlowGraph
    marks: dict[str, set[int]]
    _types: tuple[str, ...]
    _switches: list[tuple[int, int, list[int]]]

    @abstractmethod
    def _visit(self, node: tree_sitter.Node) -> None:
        """Visit a node."""

    @abstractmethod
    def _children(self, node: tree_sitter.Node) -> None:
        """Visit a node's children in the order of evaluation."""

    @abstractmethod
    def _with_roles(self, node: tree_sitter.Node) -> list[tuple[str, tree_sitter.Node]]:
        """Return a node's children, each with its role in the node."""

    @abstractmethod
    def _text(self, node: tree_sitter.Node) -> str:
        """Return a node's text."""

    def _branch(self, node: tree_sitter.Node) -> None:
        flow = self.flow
        ends: list[int] = []
        self._branches(node, ends)
        flow.current = flow.block(*ends, flow.current)

    def _branches(self, node: tree_sitter.Node, ends: list[int]) -> None:
        """Visit condition and bodies. Afterwards the current block is the one in which no branch was taken."""
        flow = self.flow
        for role, child in self._with_roles(node):
            if role in {"body", "else"}:
                untaken = flow.current
                flow.current = flow.block(untaken)
                self._visit(child)
                ends.append(flow.current)
                # Behind an `else` there is no way on which no branch was taken.
                flow.current = flow.block() if role == "else" else flow.block(untaken)
            elif role == "elif":
                self._branches(child, ends)
            else:
                self._visit(child)

    def _visit_all(self, children: list[tuple[str, tree_sitter.Node]], roles: set[str]) -> None:
        """Visit those of a node's children that have one of the roles, in order."""
        for role, child in children:
            if role in roles:
                self._visit(child)

    def _loop(self, node: tree_sitter.Node) -> None:
        flow = self.flow
        children = self._with_roles(node)
        late = {"condition", "update", "body", "else", "target.loop", "target.loop_write", "target.local"}
        types = self._types
        for role, child in children:
            if child.id in self.marks["type"] and (name := type_name(self._text(child))) is not None:
                self._types = (name,)
            if role not in late:
                self._visit(child)
        head = flow.block(flow.current)
        after = flow.block()
        step = flow.block()
        flow.link(step, head)
        flow.current = head
        conditions = [child for role, child in children if role == "condition"]
        is_post = node.id in self.marks["post"]
        targets = [child for role, child in children if role.startswith("target.")]
        if not is_post:
            self._visit_all(children, {"condition"})
        # Code behind `while True` is reached by `break` alone; otherwise no name would be certain to be defined there.
        endless = not targets and all(self._text(c).strip("() ") in {"True", "true", "1"} for c in conditions)
        leaving = [] if endless else [flow.current]
        flow.current = flow.block(flow.current)
        for child in targets:
            self._visit(child)
        self._types = types
        flow.breaks.append(after)
        flow.continues.append(step)
        self._visit_all(children, {"body"})
        flow.link(flow.current, step)
        flow.current = step
        flow.breaks.pop()
        flow.continues.pop()
        self._visit_all(children, {"update", "condition"} if is_post else {"update"})
        if flow.current != step:
            flow.link(flow.current, head)
        if is_post:
            leaving = [flow.current]
        flow.current = flow.block(*leaving)
        self._visit_all(children, {"else"})
        flow.link(flow.current, after)
        flow.current = after

    def _try(self, node: tree_sitter.Node) -> None:
        flow = self.flow
        children = self._with_roles(node)
        handlers = [child for role, child in children if role == "handler"]
        has_finally = any(role == "finally" for role, _ in children)
        self._visit_all(children, {"init"})
        last = flow.block()
        if has_finally:
            flow.finals.append(last)
            flow.enter_try(last)
        caught = flow.block()
        if handlers:
            # Any statement of the body may throw, so each definition in it may reach the handler.
            flow.enter_try(caught)
        self._visit_all(children, {"body"})
        if handlers:
            flow.leave_try()
            flow.current = flow.block(flow.current)
        self._visit_all(children, {"else"})
        ends = [flow.current]
        for handler in handlers:
            flow.current = flow.block(caught)
            self._visit(handler)
            ends.append(flow.current)
        flow.current = flow.block(*ends)
        if has_finally:
            flow.leave_try()
            flow.finals.pop()
            flow.link(flow.current, last)
            flow.current = last
            self._visit_all(children, {"finally"})

    def _switch(self, node: tree_sitter.Node) -> None:
        flow = self.flow
        children = self._with_roles(node)
        self._visit_all(children, {"subject"})
        head = flow.current
        after = flow.block()
        flow.breaks.append(after)
        self._switches.append((head, after, []))
        flow.current = flow.block()
        for role, child in children:
            if role != "subject":
                self._visit(child)
        _, _, defaults = self._switches.pop()
        flow.link(flow.current, after)
        # Without a default, no case may fit.
        if not defaults:
            flow.link(head, after)
        flow.breaks.pop()
        flow.current = after

    def _case(self, node: tree_sitter.Node) -> None:
        # Only in text that does not parse, a case stands outside of a switch.
        if not self._switches:
            self._children(node)
            return
        flow = self.flow
        head, after, defaults = self._switches[-1]
        falls = node.id in self.marks["falls"]
        flow.current = flow.block(head, flow.current) if falls else flow.block(head)
        if node.id in self.marks["default"]:
            defaults.append(node.start_byte)
        self._children(node)
        if not falls:
            flow.add_jump([after])

    def _return(self, node: tree_sitter.Node) -> None:
        self._children(node)
        self.flow.add_jump(self.flow.finals[-1:])

    def _throw(self, node: tree_sitter.Node) -> None:
        self._children(node)
        self.flow.add_throw()

    def _break(self, node: tree_sitter.Node) -> None:
        self._leave(node, self.flow.breaks)

    def _continue(self, node: tree_sitter.Node) -> None:
        self._leave(node, self.flow.continues)

    def _leave(self, node: tree_sitter.Node, targets: list[int]) -> None:
        """Add the edges of a jump; one with a label may lead to the end of any enclosing construct."""
        labelled = any(child.is_named for child in node.children)
        self.flow.add_jump([*(targets if labelled else targets[-1:]), *self.flow.finals[-1:]])
