// Cost: why a long answer takes long, why speed varies, and what is counted.

const COLUMNS_SHOWN = 120;
const COLUMNS_HEIGHT = 90; // units of the picture

// All passes of the run as columns, the prompt's first.
function makePassColumns({ prefill, ticks }) {
  const all = [{ index: 0, own: prefill.time > 0, time: prefill.time || 0 }, ...ticks];
  const slowest = Math.max(...all.map((each) => (each.own ? each.time : 0)));
  if (!slowest) return [el('p', 'caption', 'No pass was needed: all tokens were known from before.')];
  const group = Math.ceil(all.length / COLUMNS_SHOWN);
  const columns = columnsOf(all, slowest, group);
  const made = svgPart('svg', 'guide-columns');
  made.setAttribute('viewBox', '0 0 ' + 10 * columns.length + ' ' + COLUMNS_HEIGHT);
  made.setAttribute('preserveAspectRatio', 'none');
  made.setAttribute('role', 'img');
  made.setAttribute('aria-label', 'time of each pass; the longest took ' + milliseconds(slowest));
  made.style.width = 'min(100%, ' + 18 * columns.length + 'px)';
  for (const [kind, fits] of [['read', (column) => column.from === 0], ['written', (column) => column.from > 0]]) {
    const path = svgPart('path', kind);
    path.setAttribute('d', barsPath(columns, 10, COLUMNS_HEIGHT, (column) => column.own && fits(column)));
    made.append(path);
  }
  const words = ['The highest took ' + milliseconds(slowest) + '.', group > 1 ? ' A column is ' + group + ' passes, as high as the longest of them.' : ''];
  return [made, el('p', 'caption', guideKey('read', 'reads the prompt'), guideKey('written', 'writes one token each'), ...words)];
}

function spentTable({ read, written }) {
  const row = (name, { tokens, passes, time }) => tableRow(name, count(tokens), count(passes), passes ? milliseconds(time) : '–', tokens && passes ? milliseconds(time / tokens) : '–');
  return scrollTable('guide-spent', 'what reading and writing took', ['', 'tokens', 'passes', 'time', 'per token'], [row('read at once', read), row('written one by one', written)]);
}

function priceField(id, words, value, changed) {
  const input = Object.assign(el('input'), { type: 'number', id, min: 0, step: 'any', value });
  input.addEventListener('input', changed);
  return el('label', 'number', words, input);
}

function makeBill(run) {
  const body = el('div', 'guide-bill');
  const fields = [['guide-price-in', 'read', 1], ['guide-price-out', 'written', 4]].map(([id, words, value]) => priceField(id, words, value, show));

  function show() {
    const [priceIn, priceOut] = fields.map((field) => Math.max(0, Number(field.querySelector('input').value) || 0));
    const rows = [['read', run.given, priceIn], ['written', run.steps.length, priceOut]].map(([name, tokens, price]) => [name + ': ' + count(tokens), (tokens * price) / 1000]); // for a thousand answers
    const sum = rows[0][1] + rows[1][1];
    body.replaceChildren(...rows.map(([name, price]) => guideOdds(name, sum ? price / sum : 0, priceWords(price))), el('p', 'caption', 'A thousand answers like this one: ', el('b', '', priceWords(sum)), '.'));
  }

  show();
  return [el('p', 'guide-prices', ...fields), body];
}

const guideCost = {
  name: 'cost', title: 'Why long answers cost more', nav: 'Cost and speed',

  words(run) {
    const times = run.steps.slice(1).map((step) => step.forward).filter((time) => time > 0);
    return [
      ['Each token of an answer takes a pass, and each pass has to fetch the weights from memory', ...(run.weights ? [', here ', el('b', '', bytesize(run.weights)), ','] : []), ' to write that one token. Twice as long an answer is ', el('b', '', 'twice as many passes'), '.'],
      'The tokens of a prompt share one pass. That is why most services count both kinds and ask more for a token that is written.',
      ['Speed varies because passes do. A larger model has more weights to fetch, a longer row more keys and values. A server often writes for several people in the same pass: they share the fetching, and wait for each other.',
        ...(times.length > 1 ? [' Here a pass for one token took between ', el('b', '', milliseconds(Math.min(...times))), ' and ', el('b', '', milliseconds(Math.max(...times))), '.'] : [])],
    ];
  },

  draw(run) {
    if (!run.steps.length) return [el('p', 'caption', 'There is no answer yet: generate one on the Playground.')];
    const passes = guidePassesOf(run);
    const { reused } = passes.prefill;
    const spent = spentOf(passes);
    return [
      el('h3', '', 'What the passes of this answer took'), spentTable(spent),
      el('p', 'caption', 'The answer’s first token comes out of the pass that reads the prompt.' + (reused ? ' Of the prompt, ' + plural(reused, 'token') + ' had been read before and were kept.' : '')
        + (spent.written.tokens < run.steps.length - 1 ? ' Tokens that were given had no pass of their own.' : '')),
      el('h3', '', 'Time of each pass'), ...makePassColumns(passes),
      el('h3', '', 'Your own prices, for a million tokens'), ...makeBill(run),
    ];
  },

  task: {
    words: 'On the Playground, get an answer of at least twice as many tokens, or at most half as many: ask for more or for less, and mind “Most new tokens”. Then compare the numbers below it.',
    tab: 'playground', light: '#prompt', needsModel: true,
    begin: ({ run }) => ({ run, written: run ? run.lanes[0].steps.length : 0 }),
    done({ run, busy, begun }) {
      if (!run || busy || run === begun.run) return false;
      const written = run.lanes[0].steps.length;
      return written > 0 && (written >= 2 * begun.written || 2 * written <= begun.written);
    },
  },

  question: {
    words: 'The same question gets an answer of 100 tokens, then one of 200. How long does writing the second take?',
    choices: [
      { words: 'About as long: the question is the same.', right: false, why: 'Reading takes as long. Writing is a pass for each token: look at the two lines of the table.' },
      { words: 'About twice as long, or a little more.', right: true, why: 'There are twice as many passes, and the later ones have more keys and values to look back at. The lab “Cost” measures it.' },
      { words: 'Four times as long.', right: false, why: 'It would go that way if each pass had to read all before it anew. The KV cache spares it that.' },
    ],
  },
};
