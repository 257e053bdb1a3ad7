"""Chat templates that a visitor can pick by name, written here in the formats that model families use."""

from __future__ import annotations

from typing import Any

OWN, EDITED = "model's own", "edited"

CHATML = """\
{%- for message in messages -%}
<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{% endif -%}"""

LLAMA3 = """\
{{- bos_token -}}
{%- for message in messages -%}
{{- '<|start_header_id|>' ~ message.role ~ '<|end_header_id|>\\n\\n' -}}
{{- message.content | trim ~ '<|eot_id|>' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}
{%- endif -%}"""

# No system role of its own: the system message opens the first turn of the user.
GEMMA = """\
{{- bos_token -}}
{%- set ns = namespace(system='') -%}
{%- for message in messages -%}
{%- if message.role == 'system' -%}
{%- set ns.system = message.content | trim ~ '\\n\\n' -%}
{%- else -%}
{{- '<start_of_turn>' ~ ('model' if message.role == 'assistant' else message.role) ~ '\\n' -}}
{{- ns.system ~ message.content | trim ~ '<end_of_turn>\\n' -}}
{%- set ns.system = '' -%}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{- '<start_of_turn>model\\n' -}}
{%- endif -%}"""

MISTRAL = """\
{{- bos_token -}}
{%- set ns = namespace(system='') -%}
{%- for message in messages -%}
{%- if message.role == 'system' -%}
{%- set ns.system = message.content ~ '\\n\\n' -%}
{%- elif message.role == 'user' -%}
{{- '[INST] ' ~ ns.system ~ message.content ~ '[/INST]' -}}
{%- set ns.system = '' -%}
{%- elif message.role == 'assistant' -%}
{{- ' ' ~ message.content ~ eos_token -}}
{%- else -%}
{{- raise_exception('this format has the roles system, user and assistant only') -}}
{%- endif -%}
{%- endfor -%}"""

KNOWN = {"chatml": CHATML, "llama3": LLAMA3, "gemma": GEMMA, "mistral": MISTRAL}

# What a model must have as tokens for a template to mean to it what it should.
MARKERS = {
    "chatml": ("<|im_start|>", "<|im_end|>"),
    "llama3": ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
    "gemma": ("<start_of_turn>", "<end_of_turn>"),
    "mistral": ("[INST]", "[/INST]"),
}


def resolve(tokenizer: Any, template: str | None) -> tuple[str, str] | None:
    """(name, Jinja text) of a template given as a known name, as text, or as None for the model's own.

    None if the model has no template. A known name means the one written here.
    """
    own = own_template(tokenizer)
    if template is None:
        return None if own is None else (OWN, own)
    if template in KNOWN:
        return template, KNOWN[template]
    if template == own:
        return OWN, template
    return next(((name, text) for name, text in KNOWN.items() if text == template), (EDITED, template))


def own_template(tokenizer: Any) -> str | None:
    """The chat template that came with the model, or None."""
    own = getattr(tokenizer, "chat_template", None)
    if isinstance(own, dict):  # several by name
        own = own.get("default")
    return own or None
