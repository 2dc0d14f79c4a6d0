"""Names for a run's addresses: which function, line, variable and field, or which part of a heap or stack."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from .memory import Memory
from .symbols import Elf, Place, Variable, short, telling

KERNEL = 1 << 63
OUR_OWN = ("homing-lab-names.so", "homing-lab-clock.so")


@dataclass
class Module:
    path: str
    elf: Elf
    bias: int

    @property
    def name(self) -> str:
        return Path(self.path).name

    @property
    def ours(self) -> bool:
        return self.name in OUR_OWN


@dataclass
class Data:
    """What a range of bytes is. `kind`: variable, heap, stack, thread, file, unnamed."""

    kind: str
    name: str
    module: str = ""
    variable: Variable | None = None
    offset: int = 0  # of the first byte, in the variable
    elf: Elf | None = field(default=None, repr=False)


class Names:
    """`file_of` finds the host's file of a guest's path, or None."""

    def __init__(self, memory: Memory, file_of: Callable[[str], Path | None]) -> None:
        self._memory = memory
        self._modules: list[tuple[int, int, Module]] = []
        self._places: dict[int, list[Place]] = {}
        elves: dict[str, Elf] = {}
        for mapping in memory.mappings:
            if not mapping.path.startswith("/"):
                continue
            if mapping.path not in elves:
                file = file_of(mapping.path)
                if file is None:
                    continue
                elves[mapping.path] = Elf(file)
            elf = elves[mapping.path]
            bias = elf.bias(mapping.low, mapping.offset)
            if bias is None:
                continue
            low, high = (bias + end for end in elf.extent)
            # Two segments may begin in one page of the file: the first mapping, of its first page, is sure.
            if not any(m.path == mapping.path and low < end and first < high for first, end, m in self._modules):
                self._modules.append((low, high, Module(mapping.path, elf, bias)))

    def module(self, address: int) -> Module | None:
        return next((m for low, high, m in reversed(self._modules) if low <= address < high), None)

    def learn(self, addresses: Iterable[int]) -> None:
        """Looks code up in one go: a question to binutils a file."""
        asked: dict[str, tuple[Module, list[int]]] = {}
        for address in set(addresses) - self._places.keys():
            module = self.module(address)
            if module is not None:
                asked.setdefault(module.path, (module, []))[1].append(address)
        for module, wanted in asked.values():
            found = module.elf.places([address - module.bias for address in wanted])
            for address in wanted:
                self._places[address] = found.get(address - module.bias, [])

    def code(self, address: int) -> Place:
        """The function that an instruction belongs to for its reader; learn() first."""
        if address >= KERNEL:
            return Place("the kernel")
        place = telling(self._places.get(address, []))
        if place is not None:
            return place
        module = self.module(address)
        return Place(f"{module.name}+{address - module.bias:#x}" if module else f"{address:#x}")

    def outermost(self, address: int) -> Place:
        """The function as it was compiled, with all that was inlined into it."""
        places = self._places.get(address, [])
        return places[-1] if places else self.code(address)

    def module_name(self, address: int) -> str:
        module = self.module(address)
        return "kernel" if address >= KERNEL else module.name if module else ""

    def is_ours(self, address: int) -> bool:
        module = self.module(address)
        return module is not None and module.ours

    def data(self, address: int) -> Data:
        thread = self._memory.thread(address)
        if thread is not None:
            return self._of_thread(address, thread.frame, thread.number, thread.function)
        module = self.module(address)
        if module is not None:
            own = address - module.bias
            variable = module.elf.variable(own)
            if variable is not None:
                return Data("variable", variable.name, module.name, variable, own - variable.address, module.elf)
            return Data("file", f"{module.name}+{own:#x}", module.name)
        mapping = self._memory.mapping(address)
        if mapping is not None:
            if mapping.path == "[heap]":
                return Data("heap", "heap")
            if mapping.path == "[stack]":
                return Data("stack", "stack of the first thread")
            return Data("file", f"{mapping.path}+{address - mapping.low + mapping.offset:#x}")
        return Data("unnamed", "allocated memory")

    def _of_thread(self, address: int, frame: int, number: int, function: int) -> Data:
        self.learn([function])
        begins = self._places.get(function)
        whose = f"thread {number}" + (f" ({short(begins[-1].function)})" if begins else "")
        if address >= frame:
            return Data("thread", f"thread-local data of {whose}")
        return Data("stack", f"stack of {whose}")

    def variables(self, address: int, length: int) -> list[Variable]:
        """Those that have bytes there."""
        module = self.module(address)
        if module is None:
            return []
        own = address - module.bias
        return module.elf.variables_between(own, own + length)
