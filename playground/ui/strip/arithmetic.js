// What the inspector works out from a step: softmax by hand, the bar of the dice, each cutoff in its own
// terms. Pure.

// Softmax in its parts: exp(logit − largest), divided by the sum over the whole vocabulary.
function softmaxOf(step, rows) {
  const largest = step.candidates[0].logit;
  const sum = Math.exp(step.logSumExp - largest);
  const lines = rows.map((candidate) => {
    const below = candidate.logit === null ? -Infinity : candidate.logit - largest;
    return { candidate, below, weight: Math.exp(below), prob: Math.exp(below) / sum };
  });
  return { largest, sum, lines, rest: Math.max(0, sum - lines.reduce((total, line) => total + line.weight, 0)) };
}

// How many tokens the settings left, and those whose logit is exactly that of a neighbour in the raw order.
function leftOf(step, vocabulary) {
  return step.stages.length ? step.stages[step.stages.length - 1].kept : vocabulary;
}

function tiedIds(step) {
  const tied = new Set();
  step.candidates.forEach((candidate, place) => {
    const before = step.candidates[place - 1];
    if (before && before.rank === candidate.rank - 1 && before.logit === candidate.logit) tied.add(before.id).add(candidate.id);
  });
  return tied;
}

const SENT = 20; // so many tokens from the start of the bar are always listed

// The cumulative bar: tokens in order of falling final probability, ties by lowest id. What is not listed is
// a stretch without an id. `more` are stretches that were asked for.
function diceStretches(step, more = []) {
  const kept = step.candidates.filter((candidate) => candidate.finalProb > 0)
    .sort((a, b) => b.finalProb - a.finalProb || a.id - b.id);
  const all = step.othersFinalProb < 1e-9;
  const placed = [];
  let edge = 0;
  for (const candidate of all ? kept : kept.slice(0, SENT)) {
    const own = candidate.id === step.id;
    const low = own ? step.draw.low : edge;
    edge = own ? step.draw.high : low + candidate.finalProb;
    placed.push({ id: candidate.id, text: candidate.text, low, high: edge });
  }
  const chosen = { id: step.id, text: step.text, low: step.draw.low, high: step.draw.high };
  for (const stretch of [chosen, ...more]) {
    if (stretch.high > stretch.low && !placed.some((other) => other.id === stretch.id)) placed.push(stretch);
  }
  placed.sort((a, b) => a.low - b.low);
  const stretches = [];
  edge = 0;
  for (const stretch of placed) {
    if (stretch.low - edge > 1e-6) stretches.push({ id: null, low: edge, high: stretch.low });
    stretches.push(stretch);
    edge = stretch.high;
  }
  if (1 - edge > 1e-5) stretches.push({ id: null, low: edge, high: 1 });
  return stretches;
}

function stretchAt(stretches, u) {
  return stretches.find((stretch) => u < stretch.high) || stretches[stretches.length - 1];
}

// Where a filter cut: {words, at, from, to, ticks}. Places run from 0 to 1 on an axis in the filter's own
// terms, `at` is the cutoff, kept is what lies between `from` and `to`; ticks are listed tokens, as far as
// what was sent tells their value before the filter.
function cutoffOf(step, stage) {
  const rules = { top_k: topKCut, top_p: topPCut, min_p: minPCut, typical_p: typicalCut };
  if (stage.cutoff === null || !rules[stage.name]) return null;
  return rules[stage.name](step, stage);
}

const CHANGING = ['logit_bias', 'repetition_penalty', 'presence_frequency'];

// Logits after temperature, best first; none if penalties changed them on the way.
function temperedRows(step) {
  if (step.stages.some((stage) => CHANGING.includes(stage.name))) return [];
  const heat = step.stages.find((stage) => stage.name === 'temperature');
  const divisor = heat && !heat.setting.includes('greedy') ? Number(heat.setting) : 1;
  return step.candidates.filter((candidate) => candidate.logit !== null && candidate.removedBy !== 'bans')
    .map((candidate) => ({ candidate, score: candidate.logit / divisor }));
}

function ticksOf(rows, place) {
  return rows.map(({ candidate, score }) => ({ at: place(score), chosen: candidate.id, kept: candidate.removedBy === null }))
    .filter((tick) => tick.at >= 0 && tick.at <= 1);
}

function topKCut(step, stage) {
  const rows = temperedRows(step);
  const top = rows.length ? rows[0].score : stage.cutoff + 4;
  const span = Math.max(top - stage.cutoff, 0.5) * 1.5;
  const place = (score) => 1 - (top - score) / span;
  const heat = step.stages.some((entry) => entry.name === 'temperature') ? ' after temperature' : '';
  const k = Number(stage.setting);
  const ties = stage.kept > k ? ' (' + count(stage.kept - k) + ' level with it stay too)' : '';
  return {
    words: 'the ' + ordinal(Math.min(k, stage.kept)) + ' logit' + heat + ' is ' + stage.cutoff.toPrecision(4) + ties,
    at: place(stage.cutoff), from: place(stage.cutoff), to: 1, ticks: ticksOf(rows, place),
  };
}

function topPCut(step, stage) {
  const needed = Number(stage.setting);
  return {
    words: 'the likeliest ' + count(stage.kept) + ' hold ' + percent(stage.cutoff) + '; ' + percent(needed) + ' were asked for',
    at: needed, from: 0, to: stage.cutoff, ticks: [],
  };
}

function minPCut(step, stage) {
  const share = Number(stage.setting);
  const rows = temperedRows(step).filter(({ candidate }) => candidate.removedBy !== 'top_k');
  const reach = Math.log(Math.min(share, 0.5) / 8);
  const place = (score) => 1 - (score - rows[0].score) / reach;
  const at = 1 - Math.log(share) / reach;
  return {
    words: 'the floor is ' + percent(stage.cutoff) + ', ' + percent(share) + ' of the likeliest’s ' + percent(stage.cutoff / share),
    at, from: at, to: 1, ticks: rows.length ? ticksOf(rows, place) : [],
  };
}

function typicalCut(step, stage) {
  return {
    words: 'at most ' + stage.cutoff.toPrecision(3) + ' nats away from the entropy',
    at: 0.6, from: 0, to: 0.6, ticks: [],
  };
}

// The length of a bar for a number of tokens: logarithmic, 1 token is a stub, the whole vocabulary is full.
function countShare(kept, vocabulary) {
  return vocabulary <= 1 ? 1 : (0.02 + 0.98 * (Math.log(Math.max(kept, 1)) / Math.log(vocabulary)));
}

// A roll as text; it never reaches 1.
function rollText(u) {
  return u.toFixed(3) === '1.000' ? '0.9999' : u.toFixed(3);
}

const HELD = { typical_p: 1, repetition_penalty: 1, presence_penalty: 0, frequency_penalty: 0 };

// What is said under the what-if sliders: `moved` is `step` under other settings than those of its run.
function whatIfWords(step, moved, params) {
  if (!moved) return ['Move a slider: this step is worked out anew from its stored logits.'];
  const same = moved.id === step.id;
  const picks = [same ? ' would still pick ' : ' would pick ', { token: moved.text }, ...(same ? [] : [' instead of ', { token: step.text }]), '.'];
  const how = moved.draw.method === 'forced' ? ['The token was forced, whatever the settings.']
    : moved.draw.method === 'greedy' ? ['It', ...picks, ' No dice at temperature 0.']
      : [{ strong: 'The same roll, ' + moved.draw.u.toFixed(3) + ',' }, ...picks];
  const held = Object.keys(HELD).filter((name) => params[name] !== HELD[name]).map((name) => stageName(name) + ' ' + params[name]);
  if (Object.keys(params.logit_bias || {}).length) held.push('bias');
  if ((params.banned || []).length) held.push('bans');
  const stay = held.length ? [' Still in force: ' + held.join(', ') + '.'] : [];
  const alone = moved.stages.find((stage) => stage.name === 'listed');
  const listed = alone ? [' Over the ' + alone.kept + ' listed tokens: this page knows no others, and they would have a share too.'] : [];
  const read = moved.forward > 0 ? [' The stored logits had been dropped, so the model read the text again: ' + milliseconds(moved.forward) + '.'] : [];
  return ['What if: the run itself is unchanged. ', ...how, ...listed, ...stay, ...read];
}
