"""A conversation of our own writing: an instruction, turns of questions and answers, and a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from playground.experiments.bench import Bench
    from playground.trace import Prompt

# Where the instruction stands; the last two where a model has no chat template, or one without its role.
Way = Literal["system message", "first user message", "start of the text"]

TURNS = (
    (
        "How do I keep bread fresh for longer?",
        "Keep it in a linen bag at room temperature, and freeze what you will not eat within three days. In "
        "a fridge it goes stale faster.",
    ),
    (
        "Which plants grow well on a shady balcony?",
        "Ferns, ivy and hostas do well there. Mint and parsley need little sun too, as long as their soil "
        "stays moist.",
    ),
    (
        "Why do ships float although they are made of steel?",
        "A hull pushes away more weight of water than the whole ship weighs, since most of what is inside it "
        "is air.",
    ),
    (
        "What should I pack for two days in the hills?",
        "Take good shoes, a rain jacket, a warm layer, water, food for a day more than you plan, a map and a "
        "small lamp.",
    ),
    (
        "How many strings does a violin have?",
        "It has four, tuned in fifths: G, D, A and E. A viola has four as well, a fifth lower.",
    ),
    (
        "My bicycle chain squeaks. What can I do about it?",
        "Wipe it with a dry cloth, put one drop of oil on each link, turn the pedals for a minute and wipe "
        "off what is left.",
    ),
    (
        "What is the difference between weather and climate?",
        "Weather is what happens outside on a given day. Climate is what can be expected there, averaged "
        "over thirty years or so.",
    ),
    (
        "Can you suggest a name for a grey cat?",
        "Pebble, Ash and Misty would suit a grey cat. Try two of them for a day, and see which one you call "
        "more often.",
    ),
)


def way_of(bench: Bench, instruction: str, question: str) -> Way:
    """Where this model's template can put an instruction."""
    if not bench.engine.tokenizer.chat_template:
        return "start of the text"
    try:
        prompt = conversation(bench, "system message", instruction, 0, question)
    except ValueError:  # it refuses the role
        return "first user message"
    return "system message" if places(prompt, instruction) else "first user message"  # or drops it


def conversation(
    bench: Bench, way: Way, instruction: str | None, turns: int, question: str, opening: str = ""
) -> Prompt:
    """The instruction if there is one, `turns` of TURNS over and over, and the question.

    Each answer of the turns begins with `opening`. Raises ValueError if the template refuses it.
    """
    said = []
    for number in range(turns):
        asked, answered = TURNS[number % len(TURNS)]
        said += [("user", asked), ("assistant", f"{opening} {answered}".strip())]
    said.append(("user", question))
    if way == "start of the text":
        texts = [instruction] if instruction else []
        return bench.engine.raw("\n".join([*texts, *(text for _, text in said)]) + "\n")
    if instruction and way == "system message":
        said.insert(0, ("system", instruction))
    elif instruction:
        said[0] = ("user", f"{instruction}\n\n{said[0][1]}")
    return bench.engine.chat([{"role": role, "content": text} for role, text in said])


def places(prompt: Prompt, instruction: str) -> tuple[int, ...]:
    """Positions of the tokens with any of the instruction in them; none if it is not there word for word.

    Position 0 is never among them: what it is given is told apart.
    """
    own = [segment.start for segment in prompt.segments if not segment.added_by_template]
    start = prompt.text.find(instruction, min(own, default=0))
    if start < 0:
        return ()
    end = start + len(instruction)
    return tuple(
        each.position for each in prompt.tokens if each.position and each.start < end and each.end > start
    )
