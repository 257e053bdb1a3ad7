"""Flags and environment of app.py."""

from __future__ import annotations

import pytest

from playground.settings import Settings, read_settings


def test_defaults() -> None:
    assert read_settings([], {}) == Settings()


def test_a_flag_wins_over_the_environment_and_that_over_the_default() -> None:
    environment = {"PLAYGROUND_MAX_LANES": "3", "PLAYGROUND_MODEL": "org/name", "PLAYGROUND_SHARE": "true"}
    settings = read_settings(["--max-lanes", "5"], environment)
    assert (settings.max_lanes, settings.model, settings.share) == (5, "org/name", True)
    assert read_settings(["--no-share"], environment).share is False


def test_an_empty_variable_is_as_good_as_none() -> None:
    assert read_settings([], {"PLAYGROUND_PORT": " ", "PLAYGROUND_MODEL": ""}) == Settings()


def test_a_space_is_hosted_and_listens_where_it_is_told_to() -> None:
    space = {"SPACE_ID": "somebody/playground", "GRADIO_SERVER_NAME": "0.0.0.0", "GRADIO_SERVER_PORT": "7861"}
    settings = read_settings([], space)
    assert (settings.host, settings.port) == ("0.0.0.0", 7861)
    assert settings.hosted
    assert settings.closed
    assert settings.trusted_proxy
    own = {"PLAYGROUND_HOST": "::", "PLAYGROUND_HOSTED": "false", "PLAYGROUND_TRUSTED_PROXY": "*"}
    settings = read_settings(["--port", "80"], space | own)
    assert (settings.host, settings.port, settings.hosted, settings.trusted_proxy) == ("::", 80, False, "*")


@pytest.mark.parametrize(
    ("arguments", "environment", "words"),
    [
        (["--port", "70000"], {}, "--port must be in [0, 65535], got 70000"),
        (["--port", "x"], {}, "--port"),
        (["--max-lanes", "0"], {}, "--max-lanes must be in [1, 256], got 0"),
        (["--device", "cpu; rm"], {}, "--device must be"),
        (["--dtype", "int4"], {}, "--dtype must be"),
        (["--nonsense"], {}, "--nonsense"),
        (["--public-url", "javascript:alert(1)"], {}, "--public-url must be an address"),
        (["--public-url", "https://example.org/?x"], {}, "--public-url must be an address"),
        (["--public-url", "https:///play"], {}, "--public-url must be an address"),
        (["--visitor-saves", "0"], {}, "--visitor-saves must be in [1, 1000000], got 0"),
        ([], {"PLAYGROUND_PORT": "many"}, "PLAYGROUND_PORT must be a whole number, got 'many'"),
        ([], {"PLAYGROUND_SHARE": "perhaps"}, "PLAYGROUND_SHARE must be true or false, got 'perhaps'"),
        ([], {"PLAYGROUND_KV_MB": "-1"}, "--kv-mb must be in [1, 1000000], got -1"),
    ],
)
def test_wrong_settings_end_the_start_with_one_sentence(
    arguments: list[str], environment: dict[str, str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        read_settings(arguments, environment)
    written = capsys.readouterr().err
    assert left.value.code == 2
    assert words in written
    assert written.count("\n") == 1
