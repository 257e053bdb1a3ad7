"""What each control token of a model means, in one plain sentence.

The markers of the model families are known by their text. What the model's own files say about an id, such
as that it ends an answer, holds whatever its text is, and stands beside that. Nothing is guessed: of a token
that nobody knows only so much is said.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

# Of families that chat templates write: ChatML (Qwen, SmolLM), Llama 2 to 4, Gemma, Mistral, Phi, Zephyr,
# DeepSeek, Command R, GPT-2 and the formats for code of StarCoder and SmolLM.
MEANINGS = {
    "<|im_start|>": "opens a message: who speaks comes next, then a line break and what they say",
    "<|im_end|>": "closes a message: whoever speaks has finished their turn",
    "<|im_sep|>": "stands between who speaks and what they say",
    "<|endoftext|>": "ends a document: what follows has nothing to do with what came before",
    "<|begin_of_text|>": "the start of every text",
    "<|end_of_text|>": "ends a text, without an answer to follow",
    "<|begin▁of▁sentence|>": "the start of every text",
    "<｜begin▁of▁sentence｜>": "the start of every text",
    "<｜end▁of▁sentence｜>": "ends an answer",
    "<｜User｜>": "opens a message of the user",
    "<｜Assistant｜>": "opens a message of the assistant",
    "<|start_header_id|>": "opens a message: who speaks comes next",
    "<|end_header_id|>": "ends the name of who speaks: what they say comes next",
    "<|eot_id|>": "ends a turn",
    "<|eom_id|>": "ends a message, but not the turn: a tool is to answer first",
    "<|header_start|>": "opens a message: who speaks comes next",
    "<|header_end|>": "ends the name of who speaks: what they say comes next",
    "<|eot|>": "ends a turn",
    "<|python_tag|>": "what follows is a call of a tool",
    "<start_of_turn>": "opens a turn: who speaks comes next, then a line break and what they say",
    "<end_of_turn>": "ends a turn",
    "<start_of_image>": "an image comes next",
    "<end_of_image>": "an image ends here",
    "[INST]": "opens a message of the user",
    "[/INST]": "ends the user's message: the answer comes next",
    "[SYSTEM_PROMPT]": "opens the system message",
    "[/SYSTEM_PROMPT]": "ends the system message",
    "[AVAILABLE_TOOLS]": "opens the list of tools",
    "[/AVAILABLE_TOOLS]": "ends the list of tools",
    "[TOOL_CALLS]": "opens calls of tools",
    "[TOOL_RESULTS]": "opens what a tool answered",
    "[/TOOL_RESULTS]": "ends what a tool answered",
    "<<SYS>>": "opens the system message, inside the user's",
    "<</SYS>>": "ends the system message",
    "<|system|>": "opens the system message",
    "<|user|>": "opens a message of the user",
    "<|assistant|>": "opens a message of the assistant",
    "<|tool|>": "opens what a tool says",
    "<|end|>": "ends a message",
    "<|START_OF_TURN_TOKEN|>": "opens a turn: who speaks comes next",
    "<|END_OF_TURN_TOKEN|>": "ends a turn",
    "<|USER_TOKEN|>": "the user speaks",
    "<|CHATBOT_TOKEN|>": "the assistant speaks",
    "<|SYSTEM_TOKEN|>": "the system message comes next",
    "<think>": "opens the model's thoughts, which are not part of its answer",
    "</think>": "ends the model's thoughts: the answer comes next",
    "<tool_call>": "opens a call of a tool",
    "</tool_call>": "ends a call of a tool",
    "<tool_response>": "opens what a tool answered",
    "</tool_response>": "ends what a tool answered",
    "<s>": "the start of every text",
    "</s>": "ends a text or an answer",
    "<bos>": "the start of every text",
    "<eos>": "ends a text or an answer",
    "<pad>": "fills up the shorter texts of a batch: the model does not look at it",
    "<|pad|>": "fills up the shorter texts of a batch: the model does not look at it",
    "<unk>": "stands for what the vocabulary lacks",
    "<mask>": "stands for a word to be guessed",
    "<|fim_prefix|>": "code: the text before a gap comes next",
    "<|fim_middle|>": "code: what belongs into the gap comes next",
    "<|fim_suffix|>": "code: the text after a gap comes next",
    "<fim_prefix>": "code: the text before a gap comes next",
    "<fim_middle>": "code: what belongs into the gap comes next",
    "<fim_suffix>": "code: the text after a gap comes next",
    "<repo_name>": "code: the name of a repository comes next",
    "<reponame>": "code: the name of a repository comes next",
    "<file_sep>": "code: a new file begins",
    "<filename>": "code: the name of a file comes next",
    "<gh_stars>": "code: how many stars a repository has comes next",
    "<issue_start>": "code: a discussion of a problem begins",
    "<issue_comment>": "code: a comment in such a discussion comes next",
    "<issue_closed>": "code: such a discussion ends as solved",
    "<jupyter_start>": "code: a notebook begins",
    "<jupyter_text>": "code: text of a notebook comes next",
    "<jupyter_code>": "code: a program in a notebook comes next",
    "<jupyter_output>": "code: what a program of a notebook printed comes next",
    "<jupyter_script>": "code: a notebook written as a script begins",
    "<empty_output>": "code: a program of a notebook printed nothing",
}
_SPARE = re.compile(
    r"<\|?(unused|reserved_special_token|extra_id|dummy)_?\d+\|?>|\[unused\d+\]", re.IGNORECASE
)
SPARE = "a spare token, without a meaning so far"


@dataclass(frozen=True)
class Control:
    """What the model's own files say of ids."""

    start: int | None = None  # put before every text
    ends: Collection[int] = ()  # a run stops when the model writes one of them
    padding: int | None = None
    unknown: int | None = None  # for whatever the vocabulary lacks


def meaning(text: str, token_id: int, control: Control, template: str | None) -> str:
    """What the control token `text` means to its model.

    template  the Jinja text of the model's own chat template; None where it has none
    """
    known = MEANINGS.get(text) or (SPARE if _SPARE.fullmatch(text) else "")
    facts = _facts(token_id, control, known)
    if known or facts:
        return "; ".join([known, *facts] if known else facts)
    if template is None:
        return "a control token of this model, which has no chat template to say more"
    if text in template:
        return "a control token that this model's template writes"
    return "a control token of this model; its template does not use it"


def _facts(token_id: int, control: Control, known: str) -> list[str]:
    facts = []
    if token_id == control.start and known != MEANINGS["<bos>"]:
        facts.append("this model's start token")
    if token_id in control.ends:
        facts.append("this model's answer ends when it writes it")
    if token_id == control.padding and known != MEANINGS["<pad>"]:
        facts.append("also fills up the shorter texts of a batch")
    if token_id == control.unknown and known != MEANINGS["<unk>"]:
        facts.append("also stands for what the vocabulary lacks")
    return facts


def markers_in(template: str) -> list[str]:
    """The known markers that a template's own text holds, longest first: what it wants the model to have."""
    return sorted((marker for marker in MEANINGS if marker in template), key=lambda each: (-len(each), each))
