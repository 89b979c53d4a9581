"""The configuration: three sources, one result, and the errors for what is wrong in them."""

import tomllib
from pathlib import Path

import pytest

from callboard.actors.subscriber.settings import NO_RESEED
from callboard.cli.init import template
from callboard.config import Config, Loaded, Value, load
from callboard.errors import ConfigError


def loaded(folder: Path, text: str = "", *flags: Value, **environ: str) -> Loaded:
    (folder / "callboard.toml").write_text(text)
    return load(None, environ, flags, cwd=folder)


def problems(folder: Path, text: str = "", *flags: Value, **environ: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        loaded(folder, text, *flags, **environ)
    return str(caught.value).splitlines()


def test_without_any_source_everything_has_its_default(tmp_path):
    found = load(None, {}, cwd=tmp_path)
    assert found.config == Config(log=f"sqlite:///{tmp_path}/board.db")
    assert {value.origin for value in found.origins()} == {"default"}


def test_the_environment_overrides_the_file_and_a_flag_overrides_both(tmp_path):
    text = '[subscriber]\nmax_retries = 1\neditable = true\n[logging]\nlevel = "error"\n'
    flag = Value(("subscriber", "max_retries"), 3, "--max-retries")
    found = loaded(tmp_path, text, flag, CALLBOARD_SUBSCRIBER__MAX_RETRIES="2", CALLBOARD_LOGGING__LEVEL="debug")
    assert (found.config.subscriber.max_retries, found.config.subscriber.editable) == (3, True)
    assert found.config.logging.level == "debug"
    origins = {".".join(value.key): value.origin for value in found.origins()}
    assert origins["subscriber.max_retries"] == "--max-retries"
    assert origins["subscriber.editable"] == "callboard.toml:3"
    assert origins["logging.level"] == "CALLBOARD_LOGGING__LEVEL"
    assert origins["prefix"] == "default"


def test_a_subscriber_section_inherits_the_other_settings(tmp_path):
    text = '[subscriber]\ninto = "out"\nmax_retries = 5\n[subscribers."edge.1"]\nmax_retries = 0\nfollows = ["site"]\n'
    found = loaded(tmp_path, text)
    own = found.config.for_subscriber("edge.1")
    assert (own.into, own.max_retries, own.follows) == (str(tmp_path / "out"), 0, ("site",))
    assert found.config.for_subscriber("edge-2") == found.config.subscriber
    shown = {value.key: value.origin for value in found.origins() if value.key[0] == "subscribers"}
    assert shown == {
        ("subscribers", "edge.1", "max_retries"): "callboard.toml:5",
        ("subscribers", "edge.1", "follows"): "callboard.toml:6",
    }


WORD = "a-z, A-Z, 0-9, '.', '_' and '-'"


@pytest.mark.parametrize(
    ("text", "environ", "said"),
    [
        ("lgo = 'x'", {}, "callboard.toml:1: unknown key 'lgo' at the top level; did you mean log?"),
        (
            "[subscriber]\n\nmax_retrys = 3",
            {},
            "callboard.toml:3: unknown key 'max_retrys' in [subscriber]; did you mean max_retries?",
        ),
        (
            "[member]\ninstance = 'a b'",
            {},
            f"callboard.toml:2: member.instance is 'a b', but should be 1 to 100 of {WORD}",
        ),
        (
            "[member]\ntags = 'x, y z'",
            {},
            f"callboard.toml:2: member.tags is 'x, y z', but should be up to 32 words of {WORD}",
        ),
        (
            "[subscribers.edge]\neditabel = true",
            {},
            "callboard.toml:2: unknown key 'editabel' in [subscribers.edge]; did you mean editable?",
        ),
        (
            '[subscriber]\non_gap = "reseed"',
            {},
            f"callboard.toml:2: subscriber.on_gap is 'reseed', but {NO_RESEED}",
        ),
        (
            "",
            {"CALLBOARD_RETENTION__OLDER_DAYS": "3"},
            "CALLBOARD_RETENTION__OLDER_DAYS: unknown key 'older_days' in [retention]; did you mean older_than_days?",
        ),
        (
            "",
            {"CALLBOARD_SUBSCRIBER__EDITABLE": "maybe"},
            "CALLBOARD_SUBSCRIBER__EDITABLE: subscriber.editable is 'maybe', but should be true or false",
        ),
        ("runtime = 'x'", {}, "callboard.toml:1: runtime is 'x', but should be 'embedded' or 'processes'"),
        (
            "[subscriber]\nstart = 'first'",
            {},
            "callboard.toml:2: subscriber.start is 'first', but should be earliest, latest, or an offset of 0 or more",
        ),
        (
            "[subscriber]\nannounce_interval_s = 0.1",
            {},
            "callboard.toml:2: subscriber.announce_interval_s is 0.1, but should be at least 0.5",
        ),
        ("[retention]\nabove_mb = 0", {}, "callboard.toml:2: retention.above_mb is 0, but should be above 0"),
        ("subscriber = 3", {}, "callboard.toml:1: subscriber is 3, but should be a section with settings in it"),
        (
            "[subscriber]\nretry_first_s = 60\nretry_max_s = 5",
            {},
            "callboard.toml:2: [subscriber] retry_first_s is 60; it must not exceed retry_max_s, 5",
        ),
    ],
)
def test_a_problem_is_one_sentence_that_names_its_place(tmp_path, text, environ, said):
    assert problems(tmp_path, text, **environ) == [said]


def test_every_problem_is_reported_once(tmp_path):
    text = "a = 1\n[subscriber]\nmax_retries = 'x'\n[subscribers.one]\ninto = 'a'\n[subscribers.two]\ninto = 'b'\n"
    said = problems(tmp_path, text)
    assert len(said) == 2
    assert "known here: log, " in said[0] + said[1]


def test_a_syntax_error_is_reported_with_its_line(tmp_path):
    assert "line 2" in problems(tmp_path, "[subscriber]\nx =\n")[0]


def test_a_named_file_must_exist(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path / "other.toml", {}, cwd=tmp_path)


def test_paths_are_relative_to_the_file_that_names_them_or_else_to_the_current_folder(tmp_path):
    (tmp_path / "etc").mkdir()
    text = 'log = "sqlite:///./b.db"\n[subscriber]\ninto = "sqlite:o.db"\n[publisher]\nsource = "/srv/site"\n'
    (tmp_path / "etc" / "board.toml").write_text(text)
    blobs = Value(("blobs",), "blobs", "--blobs")
    found = load(Path("etc/board.toml"), {}, [blobs], cwd=tmp_path).config
    assert found.log == f"sqlite:///{tmp_path}/etc/b.db"
    assert found.subscriber.into == f"sqlite:{tmp_path}/etc/o.db"
    assert found.publisher.source == "/srv/site"
    assert found.blobs == f"{tmp_path}/blobs"
    assert load(None, {"CALLBOARD_LOG": "memory:"}, cwd=tmp_path).config.log == "memory:"


def test_a_list_in_the_environment_is_separated_by_commas_and_an_empty_variable_is_unset(tmp_path):
    found = loaded(tmp_path, CALLBOARD_SUBSCRIBER__FOLLOWS="site, shop", CALLBOARD_RETENTION__ABOVE_MB="").config
    assert found.subscriber.follows == ("site", "shop")
    assert found.retention.above_mb is None


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("CALLBOARD_LGO", "CALLBOARD_LOG"),
        ("CALLBOARD_SUBSCRIBER_MAX_RETRIES", "CALLBOARD_SUBSCRIBER__MAX_RETRIES"),
        ("CALLBOARD_SUBSCRIBR__INTO", "CALLBOARD_SUBSCRIBER__INTO"),
        ("CALLBOARD_LOGGING_LEVEL", "CALLBOARD_LOGGING__LEVEL"),
    ],
)
def test_a_misspelt_variable_is_refused_with_a_suggestion(tmp_path, name, meant):
    (problem,) = problems(tmp_path, "", **{name: "x"})
    assert problem.startswith(f"variable {name} is not a setting; did you mean {meant}?")


@pytest.mark.parametrize(
    "name",
    [
        "CALLBOARD_SERVICE_HOST",
        "CALLBOARD_SERVICE_PORT_HTTP",
        "CALLBOARD_PORT",
        "CALLBOARD_PORT_80_TCP_ADDR",
        "CALLBOARD_CONFIG",
        "CALLBOARD_HOME",
    ],
)
def test_unrelated_variables_are_ignored(tmp_path, name):
    assert {value.origin for value in loaded(tmp_path, "", **{name: "x"}).origins()} == {"default"}


def test_settings_of_a_misspelt_subscriber_are_not_ignored_silently(tmp_path):
    found = loaded(tmp_path, CALLBOARD_SUBSCRIBERS__EDGE_1__INTO="out").config
    assert found.for_subscriber("edge_1").into == str(tmp_path / "out")
    assert found.for_subscriber("edge-2").into == ""
    for name in ("edge-1", "Edge_1"):
        with pytest.raises(ConfigError, match="give both the same name"):
            found.for_subscriber(name)


def test_the_file_that_init_writes_shows_every_default(tmp_path):
    text = template({"log": "sqlite:///./x.db"})
    assert tomllib.loads(text)["log"] == "sqlite:///./x.db"
    lines = (line.removeprefix("# ") for line in text.splitlines() if " = " in line or line.startswith(("[", "# [")))
    without_default = ("max_package_mb", "older_than_days", "above_mb", "gate_gone_days")
    settings = "\n".join(line for line in lines if not line.startswith(without_default))
    found = loaded(tmp_path, settings).config.model_dump(exclude={"subscribers", "publishers", "relays"})
    default = load(None, {}, [Value(("log",), "sqlite:///./x.db", "--log")], cwd=tmp_path / "elsewhere").config
    assert found == default.model_dump(exclude={"subscribers", "publishers", "relays"}) | {"log": f"sqlite:///{tmp_path}/x.db"}
