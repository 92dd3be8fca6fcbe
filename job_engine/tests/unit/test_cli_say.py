"""What comes out on a terminal, in a pipe, and beside the answer."""

from __future__ import annotations

import pytest

from job_engine.cli import say

COLUMNS = (
    say.Column("NAME", whole=True),
    say.Column("TYPE", cut=True),
    say.Column("TRIES", right=True, whole=True),
    say.Column("ORGANIZATION", cut=True),
    say.Column("CREATED", wide=True),
)
NAME = "01kxyzabcdefghijklmnopqrst"


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Standard output is a terminal of 80 columns."""
    monkeypatch.setattr(say, "on_a_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    return monkeypatch


def test_in_a_pipe_each_row_is_one_line_and_nothing_is_lost(capsys: pytest.CaptureFixture[str]) -> None:
    long = "a long name " * 30
    say.table(COLUMNS, [(NAME, "pdf", "1/5", long, "today"), (NAME, "a\nb", "10/10", None, "today")])
    header, first, second = capsys.readouterr().out.splitlines()
    assert header.split() == ["NAME", "TYPE", "TRIES", "ORGANIZATION", "CREATED"]
    assert long.strip() in first
    assert "a b" in second
    assert "\x1b" not in first
    assert [line.index(cell) for line, cell in ((header, "TRIES"), (first, "  1/5"))] == [header.index("TRIES")] * 2


def test_a_narrow_terminal_cuts_what_may_be_cut_and_never_a_name(
    terminal: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    say.table(COLUMNS, [(NAME, "t" * 40, "1/5", "o" * 40, "today")])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert all(len(line) <= 80 for line in lines)
    assert NAME in lines[1]
    assert "…" in lines[1]
    assert "CREATED" not in lines[0]


def test_a_wide_terminal_shows_every_column(terminal: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    terminal.setenv("COLUMNS", "160")
    say.table(COLUMNS, [(NAME, "pdf", "1/5", "ACME", "today")])
    assert "CREATED" in capsys.readouterr().out


def test_a_terminal_shows_no_column_in_which_nothing_stands(
    terminal: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    say.table(COLUMNS, [(NAME, "pdf", "1/5", None, "today")])
    assert "ORGANIZATION" not in capsys.readouterr().out


@pytest.mark.parametrize("on_a_terminal", [True, False])
def test_what_others_wrote_cannot_steer_the_terminal(
    on_a_terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(say, "on_a_terminal", lambda: on_a_terminal)
    monkeypatch.setenv("NO_COLOR", "1")
    evil = "\x1b]0;title\x07\x9b31m\rfake [bold]not bold[/bold] :smile:"
    say.table((say.Column("TEXT"),), [(evil,)])
    say.line(evil)
    say.pairs([("Text", evil)])
    said = capsys.readouterr().out
    assert not {"\x1b]", "\x07", "\x9b", "\r"} & {said[i : i + n] for i in range(len(said)) for n in (1, 2)}
    assert said.count("[bold]not bold[/bold] :smile:") == 3


def test_an_error_is_one_line_without_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    say.error("cannot reach postgresql://app:hunter2@db/jobs:\n\tconnection refused")
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "Error: cannot reach postgresql://app:********@db/jobs: connection refused\n"


def test_pairs_without_a_value_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    say.pairs([("Name", "x"), ("User", None), ("Queue", ""), ("Attempts", 0)])
    assert capsys.readouterr().out.splitlines() == ["Name      x", "Attempts  0"]
