// A page without a server: looks at a step (ui/look.py) are worked out here, from the tokens that the step lists.
// The stages are those of playground/sampling/stages.py, in their order. Pure.

// What is true of all tokens of the vocabulary is told as such: the likeliest are listed without a gap, so none of
// the others lies above the last of those (`floor`), and a filter that ends above the floor cuts all of them. What
// hangs on the others' own logits cannot be told. Then the listed ones are taken alone, as the first stage, `listed`.

const LARGEST = 3.4028234663852886e38; // of a float32
const UNKNOWN = Symbol('hangs on tokens that are not listed');

// Numbers as stages.py words them.
const general = (number, digits) => String(Number(number.toPrecision(digits)));
const share3 = (share) => (share > 0 && share < 1e-4 ? 'under 0.01%' : general(100 * share, 3) + '%');

function apart(lower, higher) {
  const shown = (digits) => [general(lower, digits), general(higher, digits)];
  return [4, 7, 17].map(shown).find(([one, other]) => one !== other) || shown(17);
}

// The dice of a step: sampling/dice.py, Philox4x64-10 at counter `step` with key `seed`. `seed` may be a string.
function diceOf(seed, step) {
  const word = (number) => BigInt.asUintN(64, number);
  let key = [word(BigInt(seed)), 0n];
  let block = [word(BigInt(step)), 0n, 0n, 0n];
  for (let round = 0; round < 10; round += 1) {
    const first = 0xD2E7470EE14C6C93n * block[0];
    const second = 0xCA5A826395121157n * block[2];
    block = [(second >> 64n) ^ block[1] ^ key[0], word(second), (first >> 64n) ^ block[3] ^ key[1], word(first)];
    key = [word(key[0] + 0x9E3779B97F4A7C15n), word(key[1] + 0xBB67AE8584CAA73Bn)];
  }
  return Number(block[0] >> 11n) / 2 ** 53;
}

// A step as its record lists it, before any stage. `alone`: the listed tokens are all there are.
function beginRow(record, vocabulary, alone) {
  const rows = record.r.map(([id, logit, , , rank], place) => {
    const value = logit === null ? -Infinity : logit;
    return { id, logit: value, score: value, prob: Math.exp(value - record.z), head: !rank || rank === place + 1 };
  });
  const head = rows.filter((row) => row.head);
  const unlisted = vocabulary - rows.length;
  const floor = head.length ? head[head.length - 1].logit : Infinity;
  const rest = { number: unlisted, floor, prob: record.o[0], weight: record.o[0] * Math.exp(record.z - rows[0].logit) };
  return {
    rows, vocabulary, unlisted, listed: new Set(rows.map((row) => row.id)), rest: alone || unlisted <= 0 ? null : rest,
    gone: new Set(), // what was excluded of those that are not listed
    cut: new Map(), stages: [], greedy: false,
  };
}

// A stage's effect is kept: `left` are the rows that stay, `why(row)` explains the others.
function keep(row, name, setting, cutoff, left, why) {
  const stays = new Set(left);
  for (const each of row.rows) if (!stays.has(each)) row.cut.set(each.id, [name, why(each)]);
  row.rows = left;
  row.stages.push([name, setting, cutoff, left.length + (row.rest ? row.rest.number : 0), massOf(row)]);
}

function massOf({ rows, rest }) {
  return Math.min(1, rows.reduce((sum, each) => sum + each.prob, rest ? rest.prob : 0));
}

// The weight of all that is left, relative to the likeliest; none if it hangs on tokens that are not listed.
function totalOf({ rows, rest }) {
  return rest && rest.weight === null ? null : rows.reduce((sum, each) => sum + each.weight, rest ? rest.weight : 0);
}

// How many of the rows certainly come before every token that is not listed.
function sureOf({ rows, rest }) {
  return rest ? rows.filter((each) => each.score > rest.floor).length : rows.length;
}

// Single logits change: bias, penalties, bans. Another order of the rest, or a part of it gone, cannot be told.
function changeLogits(row, asked, ends) {
  const { params, prompt_ids: prompt, answer_ids: answer } = asked;
  const bias = Object.entries(params.logit_bias || {}).map(([id, value]) => [Number(id), value === null ? -Infinity : Number(value)]);
  const waiting = answer.length < params.min_tokens;
  const [repetition, presence, frequency] = [params.repetition_penalty, params.presence_penalty, params.frequency_penalty];
  const before = JSON.stringify(row.rows.map((each) => each.score));
  const change = (seen, value) => {
    for (const each of row.rows) {
      if (seen.has(each.id) && each.score > -Infinity) each.score = Math.min(LARGEST, Math.max(-LARGEST, value(each.score, each.id)));
    }
  };
  const without = (ids) => row.rows.filter((each) => !ids.has(each.id) || each.score === -Infinity);
  const exclude = (name, setting, ids, why) => {
    for (const id of ids) if (id < row.vocabulary && !row.listed.has(id)) row.gone.add(id);
    if (row.rest) row.rest.number = row.unlisted - row.gone.size;
    keep(row, name, setting, null, without(ids), why);
  };
  if (bias.length) {
    const finite = new Map(bias.filter(([, value]) => value > -Infinity));
    change(finite, (score, id) => score + finite.get(id));
    exclude('logit_bias', bias.length + ' token' + (bias.length > 1 ? 's' : ''),
      new Set(bias.filter(([, value]) => value === -Infinity).map(([id]) => id)), () => 'its bias is minus infinity');
  }
  if (repetition !== 1) {
    change(new Set([...prompt, ...answer]), (score) => (score < 0 ? score * repetition : score / repetition));
    keep(row, 'repetition_penalty', general(repetition, 6), null, row.rows);
  }
  if (presence !== 0 || frequency !== 0) {
    const counts = new Map();
    for (const id of answer) counts.set(id, (counts.get(id) || 0) + 1);
    change(counts, (score, id) => score - presence - frequency * counts.get(id));
    keep(row, 'presence_frequency', 'presence ' + general(presence, 6) + ', frequency ' + general(frequency, 6), null, row.rows);
  }
  const banned = new Set(params.banned);
  if (banned.size || waiting) {
    const parts = [banned.size ? banned.size + ' banned' : '', params.min_tokens ? 'no end before ' + params.min_tokens + ' tokens' : ''];
    exclude('bans', parts.filter(Boolean).join(', '), new Set([...banned, ...(waiting ? ends : [])]),
      ({ id }) => (banned.has(id) ? 'banned' : 'end tokens wait until the answer has ' + params.min_tokens + ' tokens'));
  }
  if (!row.rest) return;
  const raises = repetition < 1 || presence < 0 || frequency < 0 || bias.some(([, value]) => value > 0);
  if (raises) row.rest.floor = Infinity;
  if (raises || row.gone.size || row.cut.size || before !== JSON.stringify(row.rows.map((each) => each.score))) row.rest.weight = null;
}

function cool(row, { temperature }) {
  row.rows.sort((one, other) => other.score - one.score || one.id - other.id);
  const [best] = row.rows;
  if (!best || best.score === -Infinity) return UNKNOWN;
  const { score: top } = best;
  row.greedy = Math.max(Math.abs(top), 1) > LARGEST * temperature;
  if (row.greedy) {
    // Untouched logits have their best token listed first, whatever is level with it.
    if (row.rest && row.rest.weight === null && !(top > row.rest.floor)) return UNKNOWN;
    row.rest = null;
    const why = ({ score }) => {
      if (score === top) return 'level with token ' + best.id + ', and the lowest id is taken';
      const [own, largest] = apart(score, top);
      return 'logit ' + own + ' is not the largest, ' + largest;
    };
    best.weight = 1;
    keep(row, 'greedy', general(temperature, 6) + ' (greedy)', null, [best], why);
    row.stages[row.stages.length - 1][0] = 'temperature';
    return undefined;
  }
  for (const each of row.rows) {
    each.score /= temperature;
    each.weight = Math.exp(Math.max(each.score - top / temperature, -1000));
  }
  if (temperature === 1) return undefined;
  if (row.rest) Object.assign(row.rest, { floor: row.rest.floor / temperature, weight: null });
  return keep(row, 'temperature', general(temperature, 6), null, row.rows);
}

function keepTopK(row, { top_k: wanted, temperature }) {
  if (!wanted) return undefined;
  const k = Math.min(wanted, row.rows.length + (row.rest ? row.rest.number : 0));
  if (k > sureOf(row)) return UNKNOWN;
  const cutoff = row.rows[k - 1].score;
  const all = !row.rest && k === row.rows.length;
  row.rest = null;
  const now = temperature === 1 ? '' : ' after temperature ' + general(temperature, 6);
  return keep(row, 'top_k', String(wanted), all ? null : cutoff, row.rows.filter((each) => each.score >= cutoff), ({ score }) => {
    const [own, least] = apart(score, cutoff);
    return 'logit ' + own + now + ' is under that of place ' + k + ', ' + least;
  });
}

function keepTopP(row, { top_p: wanted }) {
  if (wanted === 1) return undefined;
  const total = totalOf(row);
  if (total === null) return UNKNOWN;
  const most = sureOf(row);
  let held = 0;
  let number = 0;
  while (number < most && held < wanted * total) held += row.rows[number++].weight;
  if (row.rest && held < wanted * total) return UNKNOWN;
  row.rest = null;
  const why = 'the likelier ones already hold ' + share3(held / total) + ' of the needed ' + share3(wanted);
  return keep(row, 'top_p', general(wanted, 6), Math.min(held / total, 1), row.rows.slice(0, number), () => why);
}

function keepMinP(row, { min_p: share }) {
  if (share === 0) return undefined;
  if (row.rest && !(Math.exp(row.rest.floor - row.rows[0].score) < share)) return UNKNOWN;
  const total = totalOf(row);
  row.rest = null;
  const why = ({ weight }) => (total === null ? 'it has ' + share3(weight) + ' of the likeliest’s chance, under ' + share3(share)
    : share3(weight / total) + ' is under ' + share3(share) + ' of ' + share3(1 / total));
  return keep(row, 'min_p', general(share, 6), total === null ? null : share / total, row.rows.filter((each) => each.weight >= share), why);
}

// Which token `u` picks and its interval on the bar: [method, u, low, high], and the id.
function drawFrom(row, total, given, u) {
  let high = 0;
  const bar = row.rows.map((each) => ({ id: each.id, low: high, high: high += each.weight / total }));
  if (!row.rest) bar[bar.length - 1].high = 1;
  const sure = sureOf(row);
  if (given !== null) {
    const place = bar.findIndex((each) => each.id === given);
    if (place < 0) return { id: given, draw: ['f', null, 1, 1] };
    return place < sure ? { id: given, draw: ['f', null, bar[place].low, bar[place].high] } : UNKNOWN;
  }
  if (row.greedy) return { id: bar[0].id, draw: ['g', null, 0, 1] };
  const hit = bar.slice(0, sure).find((each) => each.high > u);
  return hit ? { id: hit.id, draw: ['s', u, hit.low, hit.high] } : UNKNOWN;
}

// The record of the step under the settings of `asked`, with the names of its own; UNKNOWN if that hangs on
// tokens that are not listed.
function recordOf(record, run, asked, u, alone) {
  const row = beginRow(record, run.vocabulary, alone);
  if (row.rest && !(row.rest.floor < Infinity)) return UNKNOWN; // not even the likeliest is listed
  if (alone) keep(row, 'listed', count(row.rows.length) + ' of ' + count(run.vocabulary), null, row.rows);
  changeLogits(row, asked, run.ends);
  for (const stage of [cool, keepTopK, keepTopP, keepMinP]) if (stage(row, asked.params) === UNKNOWN) return UNKNOWN;
  const total = totalOf(row);
  if (total === null) return UNKNOWN;
  const drawn = drawFrom(row, total, asked.given, u);
  if (drawn === UNKNOWN) return UNKNOWN;
  const finals = new Map(row.rows.map((each) => [each.id, each.weight / total]));
  const entropy = row.rest ? record.h[0] : [...finals.values()].reduce((sum, final) => sum - (final > 0 ? final * Math.log(final) : 0), 0);
  const names = [...new Set([...row.stages.flatMap(([name, setting]) => [name, setting]), ...[...row.cut.values()].map(([name]) => name)])];
  const code = (name) => names.indexOf(name) + 1;
  const reasons = new Map();
  const rows = record.r.map(([id, logit, , , rank], place) => {
    const [name, why] = row.cut.get(id) || (logit === null ? ['model', 'the model itself excludes it'] : []);
    if (name && !names.includes(name)) names.push(name);
    if (name) reasons.set(code(name), [...(reasons.get(code(name)) || []), why]);
    return [id, logit, finals.get(id) || 0, name ? code(name) : 0, rank || place + 1];
  });
  return {
    names,
    record: {
      ...record, k: drawn.id, b: drawn.id === record.k ? record.b : '', o: [record.o[0], row.rest ? row.rest.weight / total : 0],
      h: [record.h[0], Math.max(0, entropy)], d: drawn.draw, t: [0, 0, 0], n: 0, c: [0, 0], r: rows,
      s: row.stages.map(([name, setting, ...more]) => [code(name), code(setting), ...more]),
      w: [...reasons].map(([name, whys]) => [name, '', '', whys]),
    },
  };
}

// The listed tokens that `text` may mean, as find in ui/look.py tells them.
function findListed(record, run, text) {
  const ids = record.r.map(([id]) => id);
  const named = /^\s*#?(\d{1,9})\s*$/.exec(text);
  const found = named && ids.includes(Number(named[1])) ? [{ id: Number(named[1]), how: 'id', more: 0 }] : [];
  const shown = (spelling) => flowing(spelling).replace(/ /g, '␣');
  for (const [how, spelling] of /^\s/.test(text) ? [['text', text]] : [['text', text], ['space', ' ' + text]]) {
    for (const id of ids) {
      if (textOf(run, id) === shown(spelling) && !found.some((each) => each.id === id)) found.push({ id, how, more: 0 });
    }
  }
  return found;
}

// Answers to looks, from the operations that show a run (ui/recorded.py).
function makeOffline(ops) {
  const [reset, prompt, ...later] = ops;
  const run = { vocabulary: reset.vocabulary, ends: reset.ends, params: reset.params, texts: {}, names: [], steps: [] };
  for (const op of later.filter(({ op: name }) => name === 'tokens')) {
    Object.assign(run.texts, op.texts);
    run.names.push(...(op.names || []));
    run.steps.push(...op.steps);
  }
  const problem = (why) => ({ error: 'Not available here: ' + why });
  return (asked) => {
    const record = run.steps[asked.answer_ids.length];
    if (!record || asked.prompt_ids.length !== prompt.tokens.length) {
      return problem('this page holds no model, and a run records the rivals of its answer’s tokens alone.');
    }
    const listed = count(record.r.length) + ' tokens that this step lists';
    const found = asked.find ? findListed(record, run, asked.find) : [];
    if (asked.find && !found.length) return problem('this page knows the ' + listed + ', and none of them reads so.');
    const answer = (made) => ({ op: 'look', steps: [made.record], texts: run.texts, names: made.names, found });
    const rolled = asked.u != null;
    if (!rolled && JSON.stringify(asked.params) === JSON.stringify(run.params)) return answer({ record, names: run.names });
    if (asked.params.typical_p !== 1) return problem('typical-p weighs every token of the vocabulary, and this page knows the ' + listed + '.');
    const u = rolled ? asked.u : record.d[1] ?? (asked.params.seed == null ? null : diceOf(asked.params.seed, record.i));
    if (u === null && asked.given === null && asked.params.temperature > 0) return problem('the run came without a seed, so there is no roll.');
    let made = recordOf(record, run, asked, u, false);
    if (made === UNKNOWN && rolled) return problem('it is not among the ' + listed + '.');
    if (made === UNKNOWN) made = recordOf(record, run, asked, u, true);
    return made === UNKNOWN ? problem('these settings leave none of the ' + listed + '.') : answer(made);
  };
}
