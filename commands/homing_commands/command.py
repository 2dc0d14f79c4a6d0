"""A command that refuses an empty value, as the rest of `homing` does: most often it is that of a shell's variable that
is not set."""

from __future__ import annotations

from typing import Any

import typer.core

from .errors import CommandError


class Command(typer.core.TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        for param in self.get_params(ctx):
            is_option = param.param_type_name == "option"
            value = given.get(param.name)
            values = value if isinstance(value, (list, tuple)) else [value]
            if "" not in values or (param.nargs < 0 and not is_option):  # a program's words
                continue
            name = param.opts[0] if is_option else param.metavar or param.name.upper()
            left_out = f", or leave {name} out" if is_option else ""
            raise CommandError(f"{name}: its value is empty, perhaps that of a shell variable that is not set; "
                               f"give one{left_out} (see {ctx.command_path} --help)", code=2)
        return super().parse_args(ctx, args)
