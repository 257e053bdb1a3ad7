// A rendered prompt as stretches of text, and what is said about templates. Pure.

const TEMPLATES = [
  ['own', 'The model’s own', 'What this model was trained with. Any other template shows it something it has hardly ever seen.'],
  ['chatml', 'ChatML', 'Each message between <|im_start|> and <|im_end|>: Qwen, SmolLM and others.'],
  ['llama3', 'Llama 3', 'A header with the role before each message, <|eot_id|> after it.'],
  ['gemma', 'Gemma', 'Turns of user and model; a system message opens the first turn.'],
  ['mistral', 'Mistral', '[INST] and [/INST] around what the user says, nothing around the answer.'],
  ['none', 'None (raw text)', 'The messages as one text: the model goes on writing it instead of answering.'],
  ['edited', 'Edited', 'Jinja of your own, run in a sandbox. The text below starts as the template chosen before.'],
];
const ROLES = ['system', 'user', 'assistant', 'tool'];

// The stretches between all borders of segments and tokens: [{start, end, segment, tokens}], in order. Several
// tokens may share a character; a stretch that no token covers has an empty list.
function stretchesOf(text, segments, tokens) {
  const borders = new Set([0, text.length]);
  for (const { start, end } of [...segments, ...tokens]) borders.add(start).add(end);
  const cuts = [...borders].filter((cut) => cut >= 0 && cut <= text.length).sort((a, b) => a - b);
  const stretches = [];
  let from = 0; // tokens before it end before the stretch
  let segment = 0;
  for (let i = 0; i + 1 < cuts.length; i += 1) {
    const [start, end] = [cuts[i], cuts[i + 1]];
    while (segment + 1 < segments.length && segments[segment].end <= start) segment += 1;
    while (from < tokens.length && tokens[from].end <= start) from += 1;
    const own = [];
    for (let at = from; at < tokens.length && tokens[at].start < end; at += 1) if (tokens[at].end > start) own.push(at);
    stretches.push({ start, end, segment, tokens: own });
  }
  return stretches;
}

// Messages as the server takes them: those without a text are left out, unless all are.
function messagesToSend(messages) {
  const said = messages.filter((message) => message.content !== '');
  return said.length ? said : messages.slice(0, 1);
}

// What a form's history, system message and prompt come to.
function messagesOfForm(history, system, prompt) {
  const before = history.length ? history : system ? [{ role: 'system', content: system }] : [];
  const asked = prompt || (before.some((message) => message.role === 'user') ? '' : 'What is the capital of France?');
  return [...before, ...(asked ? [{ role: 'user', content: asked }] : [])].map(({ role, content }) => ({ role, content }));
}

function plural(number, noun) {
  return count(number) + ' ' + noun + (number === 1 ? '' : 's');
}

// How many of each letter, in words: "r × 3, s × 1".
function lettersInWords(counts) {
  return counts.map(([letter, times]) => letter + ' × ' + times).join(', ');
}

// The likeliest first tokens of either side, each with the numbers of both: [{id, text, special, probs: [p, q]}];
// null where a side does not list the token.
function firstTokens(steps, most) {
  const ids = [];
  for (const step of steps) for (const { id } of step.candidates.slice(0, most)) if (!ids.includes(id)) ids.push(id);
  const rows = ids.map((id) => {
    const found = steps.map((step) => step.candidates.find((candidate) => candidate.id === id) || null);
    const named = found.find(Boolean);
    return { id, text: named.text, special: named.special, probs: found.map((candidate) => (candidate ? candidate.prob : null)) };
  });
  const largest = (row) => Math.max(...row.probs.map((prob) => prob || 0));
  return rows.sort((a, b) => largest(b) - largest(a)).slice(0, most + 2);
}
