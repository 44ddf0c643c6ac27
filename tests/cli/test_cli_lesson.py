"""`kvscope lesson`: what is printed, and what is left out for whoever is to answer."""

import re
from html.parser import HTMLParser

import pytest

from app import cli
from core.faults.catalog import FAULTS
from core.lessons import PART_TITLES, lesson_folder, load_lesson

IDS = [fault.id for fault in FAULTS]
VOID = {"meta", "br"}


class Page(HTMLParser):
    """Titles of what is open and what is closed, and whether every tag is closed in turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.closed: list[str] = []
        self.words = ""
        self.outside: list[str] = []
        self.feed(text)
        assert self.tags == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        assert tag not in ("script", "img", "iframe")
        if tag == "link" or "src" in given:
            self.outside.append(tag)
        if tag == "details":
            assert "open" not in given
        if tag not in VOID:
            self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.tags.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] == "summary":
            self.closed.append(data)
        if "style" not in self.tags:
            self.words += data


@pytest.fixture
def printed(capsys):
    def run(*arguments: str) -> str:
        assert cli.main(["lesson", *arguments]) == 0
        return capsys.readouterr().out

    return run


def test_as_markdown_it_is_the_parts_of_the_lesson_under_a_readable_title(printed):
    found = load_lesson(lesson_folder("cap-early"))
    parts = "".join(f"\n## {part.title}\n\n{part.text}\n" for part in found.parts)
    title = "# The last slot cannot be used (>= instead of >)\n\n"
    assert printed("cap-early") == f"{title}cap-early, seam overflow, level 1 of 3, 3 min\n{parts}"


@pytest.mark.parametrize("fault_id", IDS)
def test_as_a_page_every_answer_is_closed_and_nothing_is_fetched(printed, fault_id: str):
    text = printed(fault_id, "--format", "html")
    page = Page(text)
    assert tuple(page.closed) == PART_TITLES[1:]
    assert page.outside == []
    assert "prefers-color-scheme: dark" in text
    assert "show:" not in text
    assert "```" not in page.words
    assert not re.search(r"\*\*|\]\(", re.sub(r"<pre>.*?</pre>", "", text, flags=re.DOTALL))


def test_a_link_into_the_window_says_what_it_would_show_and_how(printed):
    words = Page(printed("cap-early", "--format", "html")).words
    where = "(step 5, panel cache, slot 11: kvscope --fault cap-early --step 5)"
    assert f"never written {where}" in words


def test_words_of_a_lesson_are_no_html(printed):
    assert "past &lt; C" in printed("cap-early", "--format", "html")


@pytest.mark.parametrize("form", ["md", "html"])
@pytest.mark.parametrize("fault_id", IDS)
def test_without_answers_nothing_of_them_is_printed(printed, fault_id: str, form: str):
    text = printed(fault_id, "--without-answers", "--format", form)
    found = load_lesson(lesson_folder(fault_id))
    fault = next(fault for fault in FAULTS if fault.id == fault_id)
    answers = [t for t in PART_TITLES if t not in ("Question", "Follow-ups")]
    assert [title for title in answers if title in text] == []
    assert found.rule not in text
    assert fault.title not in text
    assert fault_id not in text
    assert "<details>" not in text
    for line in found.part("Short answer").splitlines():
        assert not line or line not in text
    assert text.count("?*" if form == "md" else "?</em>") == len(
        re.findall(r"^- \*", found.part("Follow-ups"), re.MULTILINE)
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "no lesson is named; kvscope faults lists the ids; for example: kvscope lesson pos-"),
        (("cap-erly",), "no lesson 'cap-erly'; did you mean cap-early"),
        (("../cap-early",), "kvscope faults lists the ids"),
        (("both-bugs",), "own: kvscope lesson pos-restart, kvscope lesson mask-top-left"),
        (("zzz",), "'zzz'; kvscope faults lists the ids; for example: kvscope lesson pos-restart"),
    ],
    ids=["none", "near", "path", "two", "far"],
)
def test_a_lesson_that_is_not_there_is_told_in_one_line(capsys, arguments, told):
    assert cli.main(["lesson", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert told in captured.err
    assert captured.err.count("\n") == 1
