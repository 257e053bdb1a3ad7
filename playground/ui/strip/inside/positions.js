// Positions: one token at two places, and the same words in another order.

const ORDER_TEXT = 'The capital of France is';

function makePositionSection(look) {
  const [first, second] = ['inside-first', 'inside-second'].map((id, place) => {
    const input = el('input');
    Object.assign(input, { type: 'number', id, min: 0, step: 1, value: 0 });
    input.addEventListener('change', () => { if (!place) moved = true; ask(); });
    return input;
  });
  let moved = false; // the first position was typed, so it does not follow the strip
  let last = null; // the position that was followed
  const explained = el('p', 'explained');
  const figure = makeAnswerFigure('the token’s query and key at both positions');
  const holder = el('div', 'holder');
  const slot = makeSlot(look.ask, {
    waits: () => 'Reading ' + count(Math.min(look.now().reading.ids.length, look.bound() || Infinity)) + ' positions …',
    draw: (answer) => positionAnswer(answer, figure),
  });

  function ask() {
    const { reading, position, shape, layer, head } = look.now();
    if (last !== position || last === null) {
      if (!moved) first.value = position;
      last = position;
    }
    first.max = reading.ids.length - 1;
    const [one, other] = [first, second].map((input) => Math.max(0, Math.round(Number(input.value)) || 0));
    explained.textContent = {
      rotary: 'This model has rotary positions: before a query meets a key, each pair of their numbers is turned by an angle that grows with the position. In their product only the difference of the two angles is left, so a score depends on how far apart two tokens stand, not on where.',
      learned: 'This model has a table of learned positions: row 0, row 1 and so on is added to the token’s embedding before the first block.',
      none: 'This model adds nothing for positions.',
    }[shape.positions] || 'How this model knows positions is not known here.';
    if (one >= reading.ids.length) return slot.say('The first position is one of this run: from 0 to ' + count(reading.ids.length - 1) + '.');
    return slot.ask({ what: 'positions', ids: reading.ids, first: one, second: other, layer, head });
  }

  const order = makeOrderCard(look);
  const element = el('div', 'cards',
    card('', heading('One token at two positions'), explained,
      el('div', 'row', el('label', 'number', 'its position', first), el('label', 'number', 'the other', second), holder), slot.element),
    order.element);
  return {
    element,
    open() {
      holder.append(look.picker);
      ask();
    },
  };
}

function positionAnswer(answer, figure) {
  const found = answer.look;
  const [one, other] = found.positions;
  const parts = [el('p', 'say', tokenName(found.text), ' at ', el('b', '', 'position ' + count(one)), ' and put at ', el('b', '', 'position ' + count(other)),
    ', layer ' + found.layer + ', head ' + found.head + '. ', found.kind === 'rotary' ? 'Only the turn differs: the numbers before it are the same'
    + (found.layer ? ', taken from its place in this run.' : '.') : '')];
  parts.push(figure.show(answer));
  if (found.pairs.length) parts.push(el('details', 'values', el('summary', '', 'The angles, pair by pair'), angleTable(found)));
  return parts;
}

function angleTable({ pairs, positions }) {
  const degrees = (radians) => (((radians * 180) / Math.PI) % 360).toFixed(1).replace('-', '−') + '°';
  const turn = (frequency) => (frequency > 0 ? count((2 * Math.PI) / frequency) : '–');
  const rows = pairs.map(({ pair, frequency, angles }) => tableRow(count(pair), frequency.toPrecision(3), turn(frequency), degrees(angles[0]), degrees(angles[1])));
  return scrollTable('angles', 'rotary angles of each pair', ['pair', 'radians per position', 'positions for a whole turn', 'at ' + count(positions[0]), 'at ' + count(positions[1])], rows);
}

// The same words in another order: what is expected next, before and after.
function makeOrderCard(look) {
  const [before, after] = ['inside-before', 'inside-after'].map((id, place) => {
    const input = el('input', 'text');
    Object.assign(input, { type: 'text', id, maxLength: 500, autocomplete: 'off', value: place ? '' : ORDER_TEXT });
    input.addEventListener('keydown', (event) => { if (event.key === 'Enter') ask(); });
    return input;
  });
  const shuffle = button('', 'Shuffle');
  const run = button('strong', 'Compare');
  const mix = () => { after.value = shuffledWords(before.value, Math.random); };
  const slot = makeSlot(look.ask, {
    waits: () => 'Reading both texts …',
    draw: ({ look: found }) => [
      el('div', 'facts', fact('total variation', percent(found.total_variation)), fact('KL(first ‖ second)', found.divergence.toFixed(3) + ' nats')),
      el('p', 'explained', found.total_variation < 0.01 ? 'Next to nothing moved: both say the same about the next token.'
        : percent(found.total_variation) + ' of the probability moved to other tokens' + (sameWords(...found.texts) ? ', by the order alone.' : '. The second text has other words too.')),
      scrollTable('orders', 'the likeliest next tokens of both texts', ['next token', 'as written', '', 'in the other order', ''], found.tokens.map(([text, one, other]) => (
        tableRow(tokenName(text), el('span', 'mini', bar('', one)), percent(one), el('span', 'mini other', bar('', other)), percent(other))))),
    ],
  });

  function ask() {
    if (!before.value.trim() || !after.value.trim()) return slot.say('Both texts need a word.');
    return slot.ask({ what: 'order', before: before.value, after: after.value });
  }

  shuffle.addEventListener('click', () => { mix(); ask(); });
  run.addEventListener('click', ask);
  mix();
  return {
    element: card('', heading('Does word order matter?'),
      el('p', 'explained', 'The same words, read as plain text in two orders, and what the model expects next after each: raw probabilities, no template, no setting.'),
      el('div', 'two', el('label', 'field', 'as written', before), el('label', 'field', 'another order', after)),
      el('p', 'buttons', shuffle, run), slot.element),
  };
}
