// The logit lens: what the model would say if it stopped after each block.

function makeLensSection(look) {
  const figure = makeAnswerFigure('logit lens: the likeliest tokens after each block; the numbers stand in the table below');
  const slot = makeSlot(look.ask, {
    waits: () => 'Reading ' + count(look.now().position) + ' positions …',
    draw(answer) {
      const found = answer.look;
      const { reading, position } = look.now();
      return [el('p', 'say', ...lensWords(found, reading, position)), figure.show(answer),
        el('details', 'values', el('summary', '', 'As numbers, block by block'), lensTable(found.rows)),
        el('p', 'foot', 'Each row is normed by its own statistics with the final norm and compared with the output table. The last row is the model’s own output: its logits differ from the run’s model by ',
          el('b', '', found.error === 0 ? '0' : found.error.toExponential(1).replace('-', '−')), ' at most. ' + readsWords(reading.ids.length, look.bound()))];
    },
  });
  const element = el('div', 'cards', card('', heading('The choice, layer by layer'),
    el('p', 'explained', 'The hidden state at the position it was chosen from, read after each block as if it were the last. Early rows need not mean much: those blocks were never trained to be read this way.'),
    slot.element));
  return {
    element,
    open() {
      const { reading, position } = look.now();
      const refused = whyNot(position, look.bound());
      if (refused) return slot.say(refused);
      return slot.ask({ what: 'lens', ids: reading.ids, position: position - 1 });
    },
  };
}

// From which block on the token that stands there was, and stayed, the likeliest.
function lensWords({ rows, position }, reading, at) {
  const name = tokenName(reading.tokens[at].name, reading.tokens[at].special);
  const last = rows[rows.length - 1];
  const from = settledFrom(rows);
  const start = ['Read at position ' + count(position) + ', before '].concat(name, ' came. ');
  if (!last.chosen) return start;
  if (from === null) return [...start, 'At the end it ranks ', el('b', '', ordinal(last.chosen.rank)), ' with ', el('b', '', percent(last.chosen.prob)), '; the likeliest is ', tokenName(last.tokens[0].text), ' with ' + percent(last.tokens[0].prob) + '.'];
  return [...start, 'It is the likeliest from ', el('b', '', from === 0 ? 'the embedding' : 'block ' + count(from)), ' of ' + count(rows.length - 1) + ' on, and ends at ', el('b', '', percent(last.chosen.prob)), '.'];
}

function lensTable(rows) {
  const most = rows[0].tokens.length;
  const lines = rows.map(({ layer, tokens, chosen, entropy, divergence }) => {
    const top = el('span', 'tops', ...tokens.slice(0, 3).map((token) => el('span', 'top', tokenName(token.text), ' ' + percent(token.prob))));
    const line = tableRow(layer === 0 ? 'embedding' : count(layer), top, chosen ? percent(chosen.prob) : '–', chosen ? count(chosen.rank) : '–', entropy.toFixed(2), divergence < 0.0005 ? '0' : divergence.toFixed(3));
    line.dataset.layer = layer;
    return line;
  });
  return scrollTable('lens-rows', 'logit lens, block by block', ['after block', 'likeliest ' + Math.min(3, most), 'chosen', 'its rank', 'entropy, nats', 'KL to the output'], lines.reverse());
}
