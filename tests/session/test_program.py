"""What somebody writes who uses the library; `mypy` checks its types."""

from . import program


def test_a_program_over_all_of_it_does_what_it_says(tmp_path, capsys):
    assert program.main(str(tmp_path / "root"), str(tmp_path)) == 1
    assert "there is no entry nothing" in capsys.readouterr().out
