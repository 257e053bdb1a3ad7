// Embeddings and positions: what an id becomes, and how the model knows where it stands.

const GUIDE_ROWS = 12; // tokens of the answer to choose from: those that recorded_looks.py has, too

// One of each token: a row belongs to an id.
function rowTokens(run) {
  const typed = run.tokens.filter((token) => token.prompt && ['user', 'raw'].includes(run.segments[run.prompt[token.place].segment][0]));
  const all = [...typed, ...run.tokens.slice(run.given, run.given + GUIDE_ROWS)];
  return all.filter((token, place) => all.findIndex((other) => other.id === token.id) === place);
}

// A pair of numbers that was turned by `angle`: a hand on a dial. `label` is read out.
function turnDial(angle, label) {
  const dial = svgPart('svg', 'guide-dial');
  const parts = {
    circle: { cx: 22, cy: 22, r: 19 },
    line: { x1: 22, y1: 22, x2: 22 + 17 * Math.cos(angle), y2: 22 - 17 * Math.sin(angle) },
  };
  Object.entries({ viewBox: '0 0 44 44', role: 'img', 'aria-label': label }).forEach((pair) => dial.setAttribute(...pair));
  for (const [tag, places] of Object.entries(parts)) {
    const part = svgPart(tag, '');
    Object.entries(places).forEach((pair) => part.setAttribute(...pair));
    dial.append(part);
  }
  return dial;
}

function wholeTurn(frequency) {
  const positions = (2 * Math.PI) / frequency;
  return frequency > 0 ? (positions < 100 ? positions.toFixed(1) : count(positions)) : '–';
}

function turnTable({ pairs, positions }) {
  const shown = [0, 0.25, 0.5, 0.75].map((share) => pairs[Math.floor(share * pairs.length)]);
  const rows = shown.map(({ pair, frequency, angles }) => tableRow('pair ' + count(pair),
    ...angles.map((angle, place) => turnDial(angle, 'pair ' + pair + ' at position ' + positions[place] + ', turned by ' + Math.round((angle * 180) / Math.PI) + ' degrees')),
    wholeTurn(frequency)));
  return scrollTable('guide-turns', 'how far pairs of numbers are turned', ['', 'at ' + count(positions[1]), 'at ' + count(positions[0]), 'positions for a whole turn'],
    rows.map((row) => {
      row.insertBefore(row.children[2], row.children[1]);
      return row;
    }));
}

const guideEmbeddings = {
  name: 'embeddings', title: 'A number becomes a place in space', nav: 'Embeddings',

  words: () => [
    ['An id says nothing by itself. The first thing the model does is to look it up in a table that it learned. Each token has a row there, a list of numbers: its ', el('b', '', 'embedding'), '.'],
    ['Taken as directions in space, the rows of tokens that are used alike point much the same way. Nobody wrote the meanings down: they came from predicting text. The ', el('b', '', 'cosine'), ' says how alike two directions are, 1 for the same.'],
    ['A row is the same wherever its token stands, so order has to come in another way. Models with ', el('b', '', 'rotary positions'), ' turn pairs of numbers in the queries and keys of attention, the next page: the further along, the further turned. Fast pairs tell neighbours apart, slow ones far places.'],
  ],

  draw(run, guide) {
    const chooser = el('select');
    chooser.id = 'guide-token';
    chooser.setAttribute('aria-label', 'token to look up');
    const tokens = rowTokens(run);
    tokens.forEach((token, place) => chooser.append(Object.assign(el('option', '', token.name + '  id ' + token.id), { value: place })));
    const vector = makeVectorBars('the embedding');
    const row = guide.slot({
      waits: () => 'Reading the table …',
      draw({ look }) {
        vector.show(look.vector);
        return [
          el('div', 'tokenhead', el('span', 'big', tokenName(look.text)), el('small', '', 'id ' + look.token_id + ' · ' + count(look.vector.length) + ' numbers')),
          vector.element,
          el('h3', '', 'Nearest rows of the table'),
          ...look.neighbours.slice(0, 5).map((near) => guideOdds(tokenName(near.text), Math.max(0, near.cosine), near.cosine.toFixed(2).replace('-', '−'))),
        ];
      },
    });
    const turns = guide.slot({
      waits: () => 'Reading positions …',
      draw: ({ look }) => (look.kind === 'rotary' && look.pairs.length
        ? [el('p', 'caption', look.positions[0] === run.ids.length - 1 ? 'The last token of this run, ' : 'A token of this run, ', tokenName(look.text), ': how far pairs of its queries and keys are turned at position ' + count(look.positions[1]) + ', and where it stands, at position ' + count(look.positions[0]) + '.'), turnTable(look)]
        : [el('p', 'caption', { learned: 'This model adds a learned row for each position instead.', none: 'This model adds nothing for positions.' }[look.kind] || 'How this model knows positions is not known here.')]),
    });
    const shape = guide.slot({
      waits: () => 'Asking what the model is made of …',
      draw({ bound }) {
        turns.ask({ what: 'positions', ids: run.ids, first: Math.min(run.ids.length, bound || Infinity) - 1, second: 0, layer: 0, head: 0 });
        return [turns.element];
      },
    });
    const ask = () => row.ask({ what: 'embedding', id: tokens[Number(chooser.value)].id, side: 'input' });
    chooser.addEventListener('change', ask);
    chooser.value = String(Math.max(0, tokens.findIndex((token) => /\p{L}{4}/u.test(token.text))));
    if (tokens.length) ask();
    shape.ask({ what: 'shape' });
    return [el('label', 'caption', 'A token of this run: ', chooser), row.element, el('h3', '', 'Positions'), shape.element];
  },

  task: {
    words: 'On the Inside tab, click one of the token’s nearest rows, and see the neighbours of that one.',
    tab: 'inside', light: '#inside .scroll:has(.neighbours)', needsModel: true,
    open: () => document.querySelector('#inside-sections [data-section="embeddings"]')?.click(),
    done: ({ find }) => [...find('.inside-panel[data-section="embeddings"]')?.querySelectorAll('.tokenhead button') || []].some((each) => each.textContent.startsWith('Back to')),
  },

  question: {
    words: 'The same token stands twice in a prompt. What goes into the first layer at both places?',
    choices: [
      { words: 'Two different rows: the table has one for each place.', right: false, why: 'The table has one row per id. Choose the same token at two places on the Inside tab: its row is the same.' },
      { words: 'The same row of the table; order comes in by other means.', right: true, why: 'A row belongs to an id. Some models add a learned row for the position to it, rotary ones turn queries and keys in attention.' },
      { words: 'Nothing the second time: it is already known.', right: false, why: 'Every place has a vector of its own that moves through the layers, whatever stands there.' },
    ],
  },
};
