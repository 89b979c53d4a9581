from pathlib import Path

import pytest

from callboard.errors import ConfigError
from callboard.web.signin.users_file import PASSWORD_CHARS_MAX, UsersFile, read_users, write_user
from tests.web.signin.consoles import digest, line, users_file


def test_a_user_is_written_replaced_and_found(tmp_path):
    path = str(tmp_path / "users")
    assert write_user(path, "ann", "viewer", "ann12345")
    assert write_user(path, "bob b.", "operator", "bob12345")
    before = read_users(path)
    assert not write_user(path, "ann", "operator", "ann12345")
    after = read_users(path)
    assert {name: entry.role for name, entry in after.items()} == {"ann": "operator", "bob b.": "operator"}
    assert after["bob b."] == before["bob b."]
    assert after["ann"].proof != before["ann"].proof
    assert Path(path).stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["users"]


def test_what_people_wrote_into_the_file_stays_and_so_does_its_mode(tmp_path):
    path = users_file(tmp_path, "# those on call", "", line("ann", "viewer"), "  ")
    Path(path).chmod(0o400)
    write_user(path, "bob", "viewer", "bob12345")
    assert "# those on call\n\nann:viewer:" in (tmp_path / "users").read_text()
    assert Path(path).stat().st_mode & 0o777 == 0o400


def test_a_link_to_the_file_stays_a_link(tmp_path):
    users_file(tmp_path)
    (tmp_path / "link").symlink_to("users")
    write_user(str(tmp_path / "link"), "eve", "viewer", "eve12345")
    assert (tmp_path / "link").is_symlink()
    assert "eve" in read_users(str(tmp_path / "users"))


@pytest.mark.parametrize(
    "text",
    ["ann", "ann:viewer", "ann:admin:HASH", "ann:viewer:", "ann:viewer:plain", ":viewer:HASH", "ann:viewer:HASH:x",
     "ann:operator HASH", " :viewer:HASH", "ann:viewer:$2b$12$abcdefghijklmnopqrstuv", "\x1b[2J:viewer:HASH"],
)  # fmt: skip
def test_a_line_that_is_no_user_is_named_by_its_number(tmp_path, text):
    path = users_file(tmp_path, "# a comment", text.replace("HASH", digest("x")))
    with pytest.raises(ConfigError) as caught:
        read_users(path)
    said = str(caught.value)
    assert said.isprintable()
    assert f"{path}:2: a user is written as name:role:hash" in said


@pytest.mark.parametrize(
    ("content", "mode", "why"),
    [(b"", 0o600, "yet; add one: callboard console add-user NAME --role"), (b"x", 0o644, "chmod 600"),
     (b"x", 0o620, "chmod 600"), (b"\xff", 0o600, "is not in UTF-8"),
     (b"x" * (2 << 20), 0o600, "more than 1048576 bytes")],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_refused(tmp_path, content, mode, why):
    path = tmp_path / "users"
    path.write_bytes(content)
    path.chmod(mode)
    with pytest.raises(ConfigError, match=why):
        UsersFile(str(path))


def test_a_missing_file_or_a_name_that_is_there_twice_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"there are no users in .*nothing yet"):
        UsersFile(str(tmp_path / "nothing"))
    with pytest.raises(ConfigError, match="'ann' is there twice"):
        UsersFile(users_file(tmp_path, line("ann", "viewer"), line("ann", "operator")))


@pytest.mark.parametrize("name", ["", " ", "a:b", "#a", " a", "a ", "a\nb", "a\tb", "x" * 201, "\u202eann", "\ud800"])
def test_a_name_that_cannot_stand_in_the_file_is_refused(tmp_path, name):
    with pytest.raises(ConfigError, match="cannot be a user's name"):
        write_user(str(tmp_path / "users"), name, "viewer", "long enough")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("password", ["", "1234567", "x" * (PASSWORD_CHARS_MAX + 1)])
def test_a_short_or_huge_password_is_refused(tmp_path, password):
    with pytest.raises(ConfigError, match="use 8 to 1000"):
        write_user(str(tmp_path / "users"), "ann", "viewer", password)


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(ConfigError, match="there is no folder"):
        write_user(str(tmp_path / "nowhere" / "users"), "ann", "viewer", "long enough")
