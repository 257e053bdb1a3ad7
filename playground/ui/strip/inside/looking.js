// What the Inside tab says and groups: words for heads, windows and positions, tokens by word and message. Pure.

const MESSAGE_NAMES = { ...BLOCKS, generation_prompt: 'generation prompt', answer: 'answer' };

// Which key head a query head reads. Query heads share key heads in neighbouring groups of one size.
function keyHeadOf(shape, head) {
  return Math.floor(head / (shape.heads / shape.kv_heads));
}

function headWords(shape, head) {
  if (shape.kv_heads === shape.heads) return 'Each query head has keys and values of its own.';
  return 'Query head ' + head + ' reads key head ' + keyHeadOf(shape, head) + ': '
    + count(shape.heads) + ' query heads share ' + count(shape.kv_heads) + (shape.kv_heads === 1 ? ' key head.' : ' key heads.');
}

// Empty where the layer sees all.
function windowWords(shape, layer) {
  const window = shape.windows[layer];
  return window == null ? '' : 'Layer ' + layer + ' has a sliding window: a position sees itself and the '
    + count(window - 1) + ' before it, nothing earlier.';
}

// Layers with a window, as short as can be: "12 of 18 layers".
function windowsWords(shape) {
  const sliding = shape.windows.filter((window) => window != null);
  if (!sliding.length) return 'none';
  const sizes = [...new Set(sliding)].map(count).join(', ');
  return sizes + ' in ' + (sliding.length === shape.layers ? 'all' : count(sliding.length) + ' of ' + count(shape.layers)) + ' layers';
}

// What to make of integrated gradients whose passes do not add up; empty where they do.
function missedWords({ method, total, gap }) {
  if (method !== 'integrated gradients' || Math.abs(gap) <= 0.1 * Math.abs(total)) return '';
  return 'The passes miss the whole change by ' + Math.abs(gap).toFixed(2) + ' nats here. Norms divide a vector’s length away, so most of the change happens '
    + 'very near the blank input, between two passes. Do not lean on single scores.';
}

function readsWords(length, bound) {
  if (bound && length > bound) return 'Reads the first ' + count(bound) + ' of ' + count(length) + ' positions, in one pass of its own; the run stays as it is.';
  return 'Reads ' + (length === 1 ? '1 position' : 'all ' + count(length) + ' positions') + (bound ? ', at most ' + count(bound) : '')
    + ', in one pass of its own; the run stays as it is.';
}

// Why nothing can be read of where the token at `position` was chosen; empty where it can.
function whyNot(position, bound) {
  if (position === 0) return 'Nothing stands before position 0: choose a later token.';
  return bound && position > bound ? 'A look reads the first ' + count(bound) + ' positions: choose a token up to position ' + count(bound) + '.' : '';
}

// Where the token at `position` was chosen, as parts of a sentence (dom.js). `tokens`: [{name, prompt, place}].
function choiceWords(tokens, position) {
  const token = tokens[position];
  const name = { token: token.name };
  if (position === 0) return [name, ' stands at ', { strong: 'position 0' }, '. Nothing is before it, so nothing chose or foresaw it.'];
  const from = ['position ' + count(position - 1), ' (', { token: tokens[position - 1].name }, ')'];
  if (token.prompt) {
    return [name, ' at ', { strong: 'position ' + count(position) }, ' was given, not chosen. What the model expected there is read off ', ...from, '.'];
  }
  return [name, ' at ', { strong: 'position ' + count(position) }, ', token ' + count(token.place + 1) + ' of the answer, was chosen from ', ...from,
    ': attention rows and the lens look from there.'];
}

// Tokens in groups that follow one another: [{from, to (not in it), name}]. `by`: token, word or message; a word ends
// at a blank, a special token stands alone. `tokens`: [{name, text, special, block, kind}].
function groupsOf(tokens, by) {
  const starts = (token, before) => {
    if (!before || by === 'token' || token.block !== before.block) return true;
    if (by === 'message') return false;
    return token.special || before.special || /^\s/.test(token.text) || /\s$/.test(before.text);
  };
  const groups = [];
  tokens.forEach((token, place) => {
    if (starts(token, tokens[place - 1])) groups.push({ from: place, to: place + 1, name: token.name });
    else {
      const group = groups[groups.length - 1];
      group.to = place + 1;
      group.name += token.name;
    }
  });
  if (by === 'message') for (const group of groups) group.name = MESSAGE_NAMES[tokens[group.from].kind] || tokens[group.from].kind;
  return groups;
}

// Scores of tokens summed by group; groups past the last score are left out, as is what of a group lies past it.
function groupScores(scores, groups) {
  return groups.filter(({ from }) => from < scores.length).map(({ from, to, name }) => {
    const end = Math.min(to, scores.length);
    return { from, to: end, name, score: scores.slice(from, end).reduce((sum, score) => sum + score, 0) };
  });
}

// How many tokens each message has before `position`: [[name, tokens]…], in reading order.
function partsBefore(tokens, position) {
  return groupsOf(tokens.slice(0, position), 'message').map(({ from, to, name }) => [name, to - from]);
}

// One row of attention, all steps of the softmax: [{position, product, score, masked, weight, exp}]; `total` is the
// sum of the exps, with the sink's share in it.
function softmaxRow({ products, scores, masked, weights, sink }) {
  const open = scores.filter((score, position) => !masked[position]);
  const largest = open.length ? Math.max(...open) : 0;
  const rows = products.map((product, position) => ({
    position, product, score: scores[position], masked: masked[position], weight: weights[position],
    exp: masked[position] ? 0 : Math.exp(scores[position] - largest),
  }));
  const sum = rows.reduce((total, { exp }) => total + exp, 0);
  return { rows, largest, total: sink < 1 ? sum / (1 - sink) : sum };
}

// Words of a field, parted by commas, semicolons or lines; each once, at most `most`.
function wordsIn(text) {
  const words = text.split(/[,;\n]/).map((word) => word.trim()).filter(Boolean);
  return [...new Set(words)];
}

// The same words in another order, if there is another. `random` gives numbers in [0, 1).
function shuffledWords(text, random) {
  const words = text.trim().split(/\s+/);
  if (new Set(words).size < 2) return words.join(' ');
  const shuffle = () => {
    const made = [...words];
    for (let last = made.length - 1; last > 0; last -= 1) {
      const at = Math.floor(random() * (last + 1));
      [made[last], made[at]] = [made[at], made[last]];
    }
    return made.join(' ');
  };
  for (let tries = 0; tries < 20; tries += 1) {
    const made = shuffle();
    if (made !== words.join(' ')) return made;
  }
  return [...words.slice(1), words[0]].join(' ');
}

function sameWords(one, other) {
  const sorted = (text) => text.trim().split(/\s+/).sort().join(' ');
  return sorted(one) === sorted(other);
}

// A sum of shares that came with few digits: what is missing to 1 past the fourth is their rounding.
function roundedShare(sum) {
  return Math.round(sum * 1e4) / 1e4;
}

// A number of any size with a true minus, for tables.
function signedNumber(value, digits = 3) {
  if (value === 0) return '0';
  const small = Math.abs(value) < 0.5 * 10 ** -digits;
  return (small ? value.toExponential(1) : value.toFixed(digits)).replace(/-/g, '−');
}

// What a move by an arrow key comes to in a grid of columns × rows; null for other keys.
function gridMove(key, { column, row }, columns, rows) {
  const moves = {
    ArrowRight: [column + 1, row], ArrowLeft: [column - 1, row], ArrowDown: [column, row + 1], ArrowUp: [column, row - 1],
    Home: [0, row], End: [columns - 1, row], PageUp: [column, 0], PageDown: [column, rows - 1],
  };
  if (!(key in moves)) return null;
  const inside = (value, most) => Math.min(most - 1, Math.max(0, value));
  return { column: inside(moves[key][0], columns), row: inside(moves[key][1], rows) };
}

// The block from which on the chosen token is the likeliest, to the end; null where it is not at the end.
function settledFrom(rows) {
  let from = null;
  for (const { layer, chosen } of [...rows].reverse()) {
    if (!chosen || chosen.rank !== 1) break;
    from = layer;
  }
  return from;
}

function millions(number) {
  const [unit, size] = number >= 1e9 ? [' B', 1e9] : number >= 1e6 ? [' M', 1e6] : ['', 1];
  return size === 1 ? count(number) : (number / size).toFixed(number / size < 10 ? 1 : 0) + unit;
}
