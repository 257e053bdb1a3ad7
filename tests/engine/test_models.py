"""Loading folders, hub names and GGUF files, and every way in which that fails."""

from __future__ import annotations

import hashlib
import json
import shutil
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pytest
import torch
from huggingface_hub import errors
from transformers import AutoModelForCausalLM

from playground.engine import models, sources
from playground.engine.models import LoadError, load_model
from tests.fakes import CHATML, byte_tokenizer, loaded, tiny_gpt2, tiny_llama, tiny_mamba
from tests.tiny_gguf import write_tiny_gguf

IDS = torch.tensor([[72, 105, 33]])


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLAYGROUND_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny Llama in four shards and the byte tokenizer."""
    folder = tmp_path_factory.mktemp("models") / "tiny-llama"
    tiny_llama().save_pretrained(folder, max_shard_size="40KB")
    byte_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy of `saved` to spoil."""
    return Path(shutil.copytree(saved, tmp_path / "spoiled"))


def edit_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | changes), "utf-8")


def refusal(model: str | Path | None, **settings: Any) -> str:
    """The one sentence with which `model` is refused."""
    with pytest.raises(LoadError) as caught:
        load_model(model, **settings)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert len(sentence) < 450
    assert caught.value.__context__ is None  # nothing of the failed load hangs on it
    return sentence


def test_a_folder_gives_its_model_ready_to_run(saved: Path) -> None:
    made = load_model(saved, device="cpu")
    assert torch.equal(made.model(IDS).logits, tiny_llama()(IDS).logits)
    assert not made.model.training
    assert not any(weight.requires_grad for weight in made.model.parameters())
    assert made.model.config._attn_implementation == "sdpa"
    shards = sorted(saved.glob("*.safetensors"))
    assert len(shards) > 1
    assert made.info.sha256 == hashlib.sha256(b"".join(path.read_bytes() for path in shards)).hexdigest()
    assert (made.info.name, made.info.dtype, made.info.device) == ("tiny-llama", "float32", "cpu")
    assert (made.info.vocabulary, made.info.context, made.info.end_ids) == (259, 256, (257,))
    assert made.tokenizer("é<|im_end|>").input_ids == [195, 169, 257]


def test_auto_is_float32_on_a_cpu_and_a_chosen_dtype_is_kept(folder: Path) -> None:
    tiny_llama().bfloat16().save_pretrained(folder, max_shard_size="40KB")
    assert load_model(folder, device="cpu").info.dtype == "float32"
    assert load_model(folder, device="cpu", dtype="bfloat16").info.dtype == "bfloat16"
    assert load_model(folder, device="cpu", dtype="fp16").model.dtype == torch.float16


def test_generation_settings_of_a_model_are_not_applied(folder: Path) -> None:
    plain = load_model(folder, device="cpu").model(IDS).logits
    settings = {"temperature": 0.1, "top_k": 3, "repetition_penalty": 9.0, "do_sample": True}
    (folder / "generation_config.json").write_text(json.dumps(settings))
    assert torch.equal(load_model(folder, device="cpu").model(IDS).logits, plain)


@pytest.mark.parametrize("pre", ["gpt-2", "smollm"])
def test_a_gguf_file_gives_model_tokenizer_and_its_digit_splitting(tmp_path: Path, pre: str) -> None:
    path = tmp_path / "tiny.gguf"
    model = write_tiny_gguf(path, pre=pre)
    made = load_model(path, device="cpu")
    assert torch.equal(made.model(IDS).logits, model(IDS).logits)
    assert made.info.name == "tiny.gguf"
    assert made.info.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert made.info.end_ids == (257,)
    assert made.tokenizer.chat_template == CHATML
    assert made.tokenizer("ab<|im_end|>").input_ids == [259, 257]
    assert ("Digits" in str(made.tokenizer.backend_tokenizer.pre_tokenizer)) == (pre == "smollm")


# --- end ids ----------------------------------------------------------------------------------------------


def test_b17_every_declared_end_id_counts() -> None:
    model = tiny_llama(eos_token_id=[2, 7])
    model.generation_config.eos_token_id = [7, 9]
    assert loaded(model).info.end_ids == (2, 7, 9, 257)


def test_b17_a_turn_ender_counts_where_the_template_writes_it() -> None:
    tokenizer = byte_tokenizer()
    tokenizer.eos_token = "<|endoftext|>"
    assert loaded(tiny_llama(), tokenizer).info.end_ids == (257, 258)
    tokenizer.chat_template = "{{ messages[0]['content'] }}"
    assert loaded(tiny_llama(), tokenizer).info.end_ids == (258,)
    tokenizer.chat_template = {"default": "{{ messages }}", "tool_use": CHATML}
    assert loaded(tiny_llama(), tokenizer).info.end_ids == (257, 258)


def test_b17_end_ids_outside_of_the_vocabulary_are_left_out() -> None:
    assert loaded(tiny_llama(64, eos_token_id=[5, 64])).info.end_ids == (5,)
    assert loaded(tiny_llama(64)).info.end_ids == ()


def test_context_is_what_the_config_states() -> None:
    assert loaded(tiny_gpt2(positions=48)).info.context == 48
    assert loaded(tiny_mamba()).info.context is None


# --- refusals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("http://localhost:8000/v1", "is an address"),
        ("ray://cluster:10001", "is an address"),
        ("nowhere/", "no file or folder 'nowhere/'"),
        ("/nowhere/at/all", "no file or folder"),
        ("~/nowhere-at-all", "no file or folder"),
        ("lost.gguf", "no file or folder 'lost.gguf'"),
        ("a/b/c", "neither a folder, a .gguf file nor a model's name"),
        ("<img src=x onerror=alert(1)>", "neither a folder"),
        ("line\nbreak\x1b[31m", r"'line\nbreak\x1b[31m'"),
        ("nul\0", "neither a folder"),
        ("x" * 5000, "could not be loaded"),
        ("nobody/nothing", "no model hub could be reached and 'nobody/nothing' is not on this machine"),
    ],
)
def test_b38_b40_a_name_that_leads_nowhere_is_one_sentence(
    model: str, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in refusal(model)


def test_b40_a_path_that_climbs_out_loads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "b")
    assert "'../../etc' holds no model" in refusal("../../etc")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"device": "tpu"}, "there is no device 'tpu'"),
        ({"device": "meta"}, "there is no device 'meta'"),
        ({"device": "cuda:99"}, "'cuda:99' is not available here"),
        ({"device": ""}, "there is no device ''"),
        ({"dtype": "int3"}, "there is no dtype 'int3'"),
    ],
)
def test_an_unknown_device_or_dtype_is_refused_before_anything_is_read(
    settings: dict[str, str], words: str
) -> None:
    assert words in refusal("nowhere/", **settings)


def test_a_folder_without_a_model_says_what_is_missing(saved: Path, folder: Path, tmp_path: Path) -> None:
    byte_tokenizer().save_pretrained(tmp_path / "tokenizer-only")
    assert "it has no config.json" in refusal(tmp_path / "tokenizer-only")
    shutil.copy(saved / "config.json", tmp_path / "tokenizer-only")
    assert "holds no model weights" in refusal(tmp_path / "tokenizer-only")
    assert "give the folder that it lies in" in refusal(folder / "config.json")
    shard = sorted(folder.glob("*.safetensors"))[1]
    shard.unlink()
    assert f"{shard.name!r} is missing" in refusal(folder)


def test_a_folder_without_a_tokenizer_says_so(folder: Path) -> None:
    for path in folder.glob("tokenizer*"):
        path.unlink()
    assert "the tokenizer of 'spoiled' could not be read" in refusal(folder)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model_type": "bert", "architectures": ["BertForMaskedLM"]}, "not a causal language model"),
        (
            {"architectures": ["LlamaForSequenceClassification"]},
            "'LlamaForSequenceClassification', not a causal",
        ),
        ({"model_type": "t5", "architectures": None}, "'t5', not a causal language model"),
        ({"model_type": "new", "auto_map": {"AutoConfig": "evil.Config"}}, "code from its own files"),
        ({"num_hidden_layers": 4}, "9 of the weights"),
        ({"hidden_size": 64}, "have another shape"),
        ({"hidden_size": 10**6, "num_hidden_layers": 200}, "GB of memory"),
        ({"vocab_size": -1}, "could not be loaded"),
    ],
)
def test_a_config_that_does_not_fit_is_refused(folder: Path, changes: dict[str, Any], words: str) -> None:
    (folder / "evil.py").write_text("raise SystemExit('code of the model was run')")
    edit_config(folder, **changes)
    assert words in refusal(folder, device="cpu")


def test_broken_files_are_refused(folder: Path, tmp_path: Path) -> None:
    shard = min(folder.glob("*.safetensors"))
    shard.write_bytes(shard.read_bytes()[:1000])
    assert "could not be loaded" in refusal(folder)
    (folder / "model.safetensors.index.json").write_text("[]")
    assert "'model.safetensors.index.json" in refusal(folder).replace(str(folder) + "/", "")
    (folder / "config.json").write_text('{"a":')
    assert "could not be loaded" in refusal(folder)
    for content in (b"", b"GGUF123", b"no gguf at all, whatever its name says"):
        (tmp_path / "broken.gguf").write_bytes(content)
        assert "could not be loaded" in refusal(tmp_path / "broken.gguf")


def test_b51_a_load_out_of_memory_gives_back_what_it_had(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[weakref.ref[Any]] = []

    def fail(*_: Any, **__: Any) -> None:
        big = tiny_llama()
        held.append(weakref.ref(big))
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GiB")

    with monkeypatch.context() as patch:
        patch.setattr(AutoModelForCausalLM, "from_pretrained", fail)
        with pytest.raises(LoadError, match="does not fit into memory") as caught:
            load_model(saved, device="cpu")
    assert held[0]() is None, "the error keeps the model alive"
    assert caught.value.__cause__ is None
    assert load_model(saved, device="cpu").info.name == "tiny-llama"


def test_a_model_over_the_free_memory_of_one_accelerator_is_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (90, 100))
    assert models._device_map(torch.device("cuda"), 59, "m") == {"": 0}
    assert models._device_map(torch.device("cuda"), 61, "m") == "auto"
    assert models._device_map(torch.device("cuda:1"), 61, "m") == {"": torch.device("cuda:1")}


# --- identity ---------------------------------------------------------------------------------------------


def test_the_hash_is_kept_until_a_file_changes(
    folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = load_model(folder, device="cpu").info.sha256
    monkeypatch.setattr(sources, "_hash", lambda *_: pytest.fail("hashed again"))
    assert load_model(folder, device="cpu").info.sha256 == first
    monkeypatch.undo()
    monkeypatch.setenv("PLAYGROUND_CACHE", str(cache))
    tiny_llama(seed=1).save_pretrained(folder, max_shard_size="40KB")
    assert load_model(folder, device="cpu").info.sha256 != first


def test_a_cache_that_cannot_be_written_or_is_broken_does_no_harm(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = load_model(folder, device="cpu").info.sha256
    (tmp_path / "cache" / "hashes.json").write_text("{]")
    assert load_model(folder, device="cpu").info.sha256 == first
    monkeypatch.setenv("PLAYGROUND_CACHE", str(folder / "config.json" / "under-a-file"))
    assert load_model(folder, device="cpu").info.sha256 == first


# --- hub --------------------------------------------------------------------------------------------------


def listing(*names: str) -> Any:
    return lambda self, repo: SimpleNamespace(siblings=[SimpleNamespace(rfilename=name) for name in names])


def test_of_a_repository_only_what_loading_reads_is_fetched(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[list[str]] = []

    def snapshot(repo: str, allow_patterns: list[str]) -> str:
        fetched.append(sorted(allow_patterns))
        return str(saved)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    rest = [
        "config.json",
        "tokenizer.json",
        "modeling_evil.py",
        "onnx/model.onnx",
        "original/model.safetensors",
    ]
    monkeypatch.setattr(
        huggingface_hub.HfApi, "model_info", listing("model.safetensors", "pytorch_model.bin", *rest)
    )
    made = load_model("org/name", device="cpu")
    assert made.info.name == "org/name"
    monkeypatch.setattr(
        huggingface_hub.HfApi, "model_info", listing("pytorch_model.bin", "flax_model.msgpack", *rest)
    )
    load_model("org/name", device="cpu")
    assert fetched == [
        ["config.json", "model.safetensors", "tokenizer.json"],
        ["config.json", "pytorch_model.bin", "tokenizer.json"],
    ]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (errors.GatedRepoError, "has terms to accept"),
        (errors.RepositoryNotFoundError, "the hub shows no model 'org/name'"),
    ],
)
def test_what_the_hub_refuses_is_one_sentence(
    kind: type[Exception], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Any, repo: str) -> None:
        raise kind("401 Client Error\n\nlong story", response=SimpleNamespace(headers={}, request=None))  # type: ignore[call-arg]

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", refuse)
    assert words in refusal("org/name")


def test_a_download_that_breaks_off_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def snapshot(repo: str, allow_patterns: list[str]) -> str:
        raise ConnectionError("connection reset\nlong story")

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", listing("model.safetensors", "config.json"))
    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    assert "'org/name' could not be fetched (connection reset): try again" in refusal("org/name")


def test_without_a_network_an_earlier_download_is_used(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda repo, local_files_only: str(saved))
    assert load_model("org/name", device="cpu").info.context == 256  # HF_HUB_OFFLINE keeps us from asking
