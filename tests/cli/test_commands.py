"""The table of commands: each is known to the program, has options, and is told in the help."""

import pytest

from app.__main__ import main
from app.commands import COMMANDS


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_each_command_answers_for_itself(command, capsys) -> None:
    assert main([command.name, "--help"]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"usage: kvscope {command.name} ")
    assert " ".join(command.description.split()) in " ".join(told.split())


def test_the_help_of_the_program_lists_every_command(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    told = capsys.readouterr().out
    lines = [f"  {command.name:<10}{command.help}" for command in COMMANDS]
    assert [line for line in lines if line not in told.splitlines()] == []
