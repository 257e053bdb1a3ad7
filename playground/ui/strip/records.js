// Columnar records (ui/records.py) to full ones: every number the page shows that was not sent. Pure.

// Who wrote a segment of the prompt, by its kind.
const BLOCKS = {
  system: 'system message', user: 'you', assistant: 'assistant', tool: 'tool', template: 'template',
  generation_prompt: 'generation prompt: the answer starts here', raw: 'your text',
};

// `book` is what the run has told so far: {texts: {id: text | [special text]}, names: [string]}.
function textOf(book, id) {
  const entry = book.texts[id];
  return entry === undefined ? '‹id ' + id + '›' : Array.isArray(entry) ? entry[0] : entry;
}

function isSpecial(book, id) {
  return Array.isArray(book.texts[id]);
}

const METHODS = { g: 'greedy', s: 'sampled', f: 'forced' };

function readCandidate(row, place, logSumExp, book) {
  const [id, logit, finalProb, reason, rank] = row;
  const logprob = logit === null ? -Infinity : logit - logSumExp;
  return {
    id, logit, logprob, prob: Math.exp(logprob), finalProb, rank: rank || place + 1,
    removedBy: reason ? book.names[reason - 1] : null, removedWhy: null, text: textOf(book, id), special: isSpecial(book, id),
  };
}

// Reasons of a step by stage, one after the other in the order of the rows: [code, start, end, [middles]].
function addReasons(candidates, reasons, book) {
  for (const [code, start, end, middles] of reasons || []) {
    candidates.filter((candidate) => candidate.removedBy === book.names[code - 1]).forEach((candidate, place) => {
      candidate.removedWhy = middles ? start + middles[place] + end : start;
    });
  }
  return candidates;
}

function readStep(record, book) {
  const candidates = addReasons(record.r.map((row, place) => readCandidate(row, place, record.z, book)), record.w, book);
  const chosen = candidates.find((candidate) => candidate.id === record.k);
  const [method, u, low, high] = record.d;
  return {
    index: record.i, position: record.p, id: record.k, logSumExp: record.z, hex: record.b, text: chosen.text, special: chosen.special,
    prob: chosen.prob, logprob: chosen.logprob, rank: chosen.rank, finalProb: chosen.finalProb,
    removedBy: chosen.removedBy, candidates, othersProb: record.o[0], othersFinalProb: record.o[1],
    entropy: record.h[0], finalEntropy: record.h[1], gap: record.g, endProb: record.e,
    draw: { method: METHODS[method], u, low, high },
    queue: record.t[0], forward: record.t[1], sample: record.t[2], time: record.t[1] + record.t[2],
    batchLanes: record.n, kvLen: record.c[0], kvBytes: record.c[1],
    stages: record.s.map(([name, setting, cutoff, kept, mass]) => (
      { name: book.names[name - 1], setting: book.names[setting - 1], cutoff, kept, mass })),
    released: record.x,
  };
}

// The steps of a `tokens` operation; its texts and names are for those that follow too.
function readSteps(op, book) {
  Object.assign(book.texts, op.texts);
  book.names.push(...(op.names || []));
  return op.steps.map((record) => readStep(record, book));
}

function readPromptToken(row, index) {
  const [id, hex, segment, special, logprob, rank] = row;
  const known = logprob !== undefined;
  return {
    index, position: index, id, hex, segment, special: special === 1, prompt: true,
    logprob: known ? logprob : null, prob: known ? Math.exp(logprob) : null, rank: known ? rank : null,
  };
}

// The ten likeliest, the chosen one also when it is not among them, and the sum of all the others.
function likeliest(step, most) {
  const rows = step.candidates.filter((candidate, place) => place < most || candidate.id === step.id);
  const left = step.candidates.filter((candidate) => !rows.includes(candidate));
  const sum = (key) => left.reduce((total, candidate) => total + candidate[key], 0);
  return {
    rows,
    others: { prob: step.othersProb + sum('prob'), finalProb: step.othersFinalProb + sum('finalProb') },
  };
}
