"""People sign in, and out, in a real browser, which enforces what the answers tell it."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.e2e.console.test_console_command import PASSWORD, add, console

pytestmark = pytest.mark.browser
WAIT_MS = 60_000


@contextmanager
def chromium() -> Iterator[Page]:
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=arguments)
        page = browser.new_page()
        page.set_default_timeout(WAIT_MS)
        refused: list[str] = []
        page.on("console", lambda said: refused.append(said.text) if "Content Security Policy" in said.text else None)
        yield page
        assert not refused
        browser.close()


def type_in(page: Page, name: str, password: str) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def test_a_user_signs_in_where_they_wanted_to_go_and_out(terminal):
    add(terminal, "ann", "operator")
    with console(terminal, "--users", "users") as (_, url), chromium() as page:
        page.goto(f"{url}?behind=1")
        type_in(page, "ann", "wrong password")
        expect(page.get_by_role("alert")).to_have_text("the name or the password is wrong")
        type_in(page, "ann", PASSWORD)
        expect(page.get_by_text("ann (operator)")).to_be_visible()
        assert page.url == f"{url}?behind=1"
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_label("Password")).to_be_visible()
        page.goto(url)
        assert "/sign-in" in page.url


def test_a_page_that_is_open_leads_to_the_sign_in_when_its_user_is_removed(terminal):
    add(terminal, "ann")
    add(terminal, "bob")
    with console(terminal, "--users", "users") as (_, url), chromium() as page:
        page.goto(url)
        type_in(page, "ann", PASSWORD)
        expect(page.get_by_text("ann (viewer)")).to_be_visible()
        file = terminal.folder / "users"
        file.write_text("".join(each for each in file.read_text().splitlines(True) if each.startswith("bob")))
        expect(page.get_by_label("Password")).to_be_visible(timeout=WAIT_MS)
        type_in(page, "bob", PASSWORD)
        expect(page.get_by_text("bob (viewer)")).to_be_visible()
