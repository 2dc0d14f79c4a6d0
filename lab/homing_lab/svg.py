"""A machine as a picture: nodes by socket, latencies as a heat map. Light and dark."""

from __future__ import annotations

from html import escape

from .draw import node_lines, scaled_down
from .machine import Machine

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1c2330 } .small { font-size: 11px; fill: #5a6475 }
  .title { font-size: 16px; font-weight: 600 } .back { fill: #ffffff }
  .node { fill: #eef3fb; stroke: #4a78b5 } .tier { fill: #f4eefb; stroke: #8a5bb5 }
  .socket { fill: none; stroke: #b8c2d0; stroke-dasharray: 4 3 } .cell { fill: #c8551f }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6eaf0 } .small { fill: #a3adbd } .back { fill: #14181f }
    .node { fill: #1f2a3a; stroke: #6d9bd8 } .tier { fill: #2b2138; stroke: #b58adf }
    .socket { stroke: #4a5464 }
    .cell { fill: #e8793f }
  }"""
MARGIN, BOX_W, BOX_H, GAP, CELL_W, CELL_H = 24, 168, 92, 16, 58, 26


class Picture:
    def __init__(self) -> None:
        self.parts: list[str] = []
        self.right = self.bottom = 0

    def _extend(self, right: float, bottom: float) -> None:
        self.right, self.bottom = max(self.right, int(right)), max(self.bottom, int(bottom))

    def text(self, x: float, y: float, said: str, kind: str = "", anchor: str = "") -> None:
        attributes = (f' class="{kind}"' if kind else "") + (
            f' text-anchor="{anchor}"' if anchor else ""
        )
        self.parts.append(f'<text x="{x:g}" y="{y:g}"{attributes}>{escape(said)}</text>')
        self._extend(x + (len(said) * 7.6 if not anchor else 0), y + 4)

    def box(
        self, x: float, y: float, width: float, height: float, kind: str, extra: str = ""
    ) -> None:
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
            f'class="{kind}" {extra}/>'
        )
        self._extend(x + width, y + height)


def _nodes(picture: Picture, machine: Machine, top: float) -> float:
    sockets: dict[int, list[int]] = {}
    for node in machine.nodes:
        sockets.setdefault(node.socket, []).append(node.index)
    x, y = MARGIN + 8.0, top
    for members in sockets.values():
        columns = min(2, len(members))
        width, rows = columns * (BOX_W + GAP) - GAP, -(-len(members) // columns)
        if x > MARGIN + 8 and x + width > 800:
            x, y = MARGIN + 8.0, picture.bottom + GAP + 8
        if len(members) > 1:
            picture.box(
                x - 8, y - 8, width + 16, rows * (BOX_H + GAP) - GAP + 16, "socket", 'rx="10"'
            )
        for place, index in enumerate(members):
            left, up = x + place % columns * (BOX_W + GAP), y + place // columns * (BOX_H + GAP)
            picture.box(
                left, up, BOX_W, BOX_H, "node" if machine.nodes[index].cpus else "tier", 'rx="6"'
            )
            for number, line in enumerate(node_lines(machine, machine.nodes[index])):
                picture.text(left + 10, up + 22 + 20 * number, line)
        x += width + GAP + 16
    return picture.bottom + 36


def _heat(picture: Picture, machine: Machine, top: float) -> float:
    picture.text(MARGIN, top, "DRAM latency, ns: row, the CPU's node; column, the memory's")
    most = max(max(row) for row in machine.dram_ns)
    y = top + 14
    for node in machine.nodes:
        picture.text(
            MARGIN + 44 + (node.index + 0.5) * CELL_W, y + 12, str(node.index), "small", "middle"
        )
    y += 18
    for row in (node for node in machine.nodes if node.cpus):
        picture.text(MARGIN + 30, y + 17, str(row.index), "small", "end")
        for node in machine.nodes:
            value = machine.dram_ns[row.index][node.index]
            if not node.memory_mib:
                continue
            x = MARGIN + 44 + node.index * CELL_W
            picture.box(
                x,
                y,
                CELL_W - 2,
                CELL_H - 2,
                "cell",
                f'rx="3" opacity="{0.08 + 0.5 * value / most:.2f}"',
            )
            picture.text(x + CELL_W / 2, y + 17, f"{value:g}", "", "middle")
        y += CELL_H
    return y + 22


def draw(machine: Machine) -> str:
    picture = Picture()
    picture.text(MARGIN, 34, machine.title, "title")
    picture.text(
        MARGIN, 54, f"{machine.name}: a virtual machine of {machine.cpu_count} CPUs", "small"
    )
    y = _heat(picture, machine, _nodes(picture, machine, 82))
    notes = [f"scaled down: {line}" for line in scaled_down(machine)]
    if machine.assumed:
        notes.append(f"assumed, not published: {', '.join(machine.assumed)}")
    for note in notes:
        for start in range(0, len(note), 110):
            picture.text(MARGIN, y, note[start : start + 110], "small")
            y += 18
    width, height = picture.right + MARGIN, int(y) + 8
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img"><title>{escape(machine.title)}</title>\n'
        f'<style>{STYLE}\n</style>\n<rect width="{width}" height="{height}" class="back"/>\n'
        + "\n".join(picture.parts)
        + "\n</svg>\n"
    )
