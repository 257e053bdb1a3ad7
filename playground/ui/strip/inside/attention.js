// Attention: every head at a glance, one head's map, and one row of it step by step.

function makeAttentionSection(look) {
  const which = makeSegments('map', 'which map', [['head', 'This head'], ['layer', 'Mean of the layer'], ['all', 'Mean of all layers']], ask);
  const holder = el('div', 'holder');
  const atAll = el('p', 'foot');
  const mapTitle = el('h2', '');
  const rowTitle = el('h2', '');
  const heads = makeHeadGrid((layer, head) => look.setHead(layer, head));
  const wait = () => 'Reading ' + count(Math.min(look.now().reading.ids.length, look.bound() || Infinity)) + ' positions …';
  let byWeight = false;

  const grid = makeSlot(look.ask, {
    waits: wait,
    draw({ look: found }) {
      heads.show(found);
      return [heads.element];
    },
  });
  const figure = makeAnswerFigure('attention map: each row is a position that looks, each column one that is looked at; one row stands in the table below', (point) => {
    const place = point.pointIndex || point.pointNumber;
    const row = Array.isArray(place) ? place[0] : place;
    look.select(Math.min(row + 1, look.now().reading.ids.length - 1));
  }, (layout) => ({ ...layout, shapes: [...(layout.shapes || []), ...rowMark(look.now(), look.bound())] }));
  const map = makeSlot(look.ask, { waits: wait, draw: (answer) => [figure.show(answer)] });
  const row = makeSlot(look.ask, {
    waits: wait,
    failed: () => look.paint(null),
    draw({ look: found }) {
      const { reading } = look.now();
      look.paint({
        scores: found.weights, signed: false, least: '0', most: percent(Math.max(...found.weights)),
        words: 'attention of position ' + count(found.position) + ', layer ' + found.layer + ', head ' + found.head,
      });
      return rowAnswer(found, reading, byWeight, (order) => { byWeight = order; });
    },
  });

  function ask() {
    const { reading, position, shape, layer, head } = look.now();
    heads.choose(layer, head);
    atAll.textContent = readsWords(reading.ids.length, look.bound());
    const wanted = which.value();
    mapTitle.textContent = wanted === 'head' ? 'Who looks at whom: layer ' + layer + ', head ' + head : wanted === 'layer' ? 'Who looks at whom: layer ' + layer + ', mean of its ' + shape.heads + ' heads'
      : 'Who looks at whom: mean of all ' + shape.layers + ' layers';
    grid.ask({ what: 'grid', ids: reading.ids });
    figure.again();
    map.ask({ what: 'map_of', ids: reading.ids, layer: wanted === 'all' ? null : layer, head: wanted === 'head' ? head : null });
    const refused = whyNot(position, look.bound());
    if (refused) {
      look.paint(null);
      rowTitle.textContent = 'One row, step by step';
      return row.say(refused);
    }
    rowTitle.textContent = 'Row ' + count(position - 1) + ', step by step';
    return row.ask({ what: 'row', ids: reading.ids, position: position - 1, layer, head });
  }

  const title = (made, ...aside) => el('div', 'heading', made, el('span', 'aside', ...aside));
  const element = el('div', 'cards',
    card('', title(el('h2', '', 'Every head at a glance'), el('label', '', 'show ', heads.chooser)),
      el('p', 'explained', 'Layers from left to right, heads from top to bottom. Each square is a head’s map, shrunk and scaled to its own maximum: a row looks at the columns before it. Click one, or walk with the arrow keys and press Enter.'),
      grid.element),
    card('', title(mapTitle), el('div', 'row', which.element, holder),
      el('p', 'explained', 'A row is a position that reads, a column one it reads from; the weights of a row sum to 1, and nothing looks ahead. Many heads rest on position 0 when they find nothing else. The outlined row is the one below: click another to follow it.'),
      map.element, atAll),
    card('', title(rowTitle), row.element));
  return {
    element,
    open() {
      holder.append(look.picker);
      ask();
    },
  };
}

// An outline around the row that the table below explains.
function rowMark({ position, reading }, bound) {
  if (position === 0 || position > bound) return [];
  const colour = getComputedStyle(document.body).getPropertyValue('--tp-choice').trim();
  return [{
    type: 'rect', x0: -0.5, x1: Math.min(reading.ids.length, bound) - 0.5, y0: position - 1.5, y1: position - 0.5, line: { color: colour, width: 1.5 },
  }];
}

// What one position takes from those before it, with all steps of the softmax.
function rowAnswer(found, reading, byWeight, ordered) {
  const { rows, largest, total } = softmaxRow(found);
  const number = (value, digits) => signedNumber(value, digits);
  const most = Math.max(...found.weights, 1e-12);
  const lines = rows.map((each) => {
    const line = tableRow(count(each.position), tokenName(reading.tokens[each.position].name, reading.tokens[each.position].special),
      number(each.product, 2), number(each.score, 3), each.masked ? 'masked' : 'open', each.masked ? '0' : number(each.exp, 4),
      el('span', 'mini', bar('', each.weight / most)), percent(each.weight));
    line.title = 'id ' + reading.ids[each.position] + ' · length of its value vector ' + found.norms[each.position].toFixed(2);
    line.classList.toggle('masked', each.masked);
    line.dataset.position = each.position;
    return line;
  });
  const sorted = () => (byWeight ? [...lines].sort((a, b) => rows[b.dataset.position].weight - rows[a.dataset.position].weight) : lines);
  const capped = found.softcap ? ', capped at ± ' + found.softcap : '';
  const foot = el('tr', 'rest', el('th', '', ''), el('td', '', found.sink > 0 ? 'sum, and the sink' : 'sum'), el('td'), el('td'), el('td'), el('td', '', number(total, 4)), el('td'),
    el('td', '', percent(roundedShare(found.weights.reduce((sum, weight) => sum + weight, found.sink)))));
  const table = scrollTable('attention-row', 'attention of one position, step by step',
    ['pos.', 'token', 'q · k', '×\u00a0' + Number(found.scale.toPrecision(4)) + capped, 'mask', 'exp(− largest)', '', 'weight'], sorted(), foot);
  const order = makeSegments('row-order', 'order of the rows', [['position', 'By position'], ['weight', 'By weight']], (value) => {
    byWeight = value === 'weight';
    ordered(byWeight);
    table.querySelector('tbody').replaceChildren(...sorted());
  });
  // In a window the first open row, not the many that are masked, comes first into view.
  const first = rows.findIndex((each) => !each.masked);
  if (first > 2 && !byWeight) setTimeout(() => { table.scrollTop = lines[first - 2].offsetTop - table.querySelector('thead').offsetHeight; });
  order.element.querySelector('[value="' + (byWeight ? 'weight' : 'position') + '"]').checked = true;
  return [
    el('p', 'say', 'The query of ', tokenName(reading.tokens[found.position].name, reading.tokens[found.position].special), ' (position ' + count(found.position) + ') meets the keys of key head ' + found.kv_head + ' at every position up to its own: ',
      el('b', '', 'q\u00a0·\u00a0k'), ', times 1/√' + count(found.query.length) + (Math.abs(found.scale * Math.sqrt(found.query.length) - 1) < 1e-3 ? '' : ' and a factor of the model') + capped + '. Softmax turns the scores into weights: exp(score − ', el('b', '', number(largest, 3)), ') divided by ', el('b', '', number(total, 4)), '.',
      found.window == null ? '' : ' Its window is ' + count(found.window) + ' positions: older ones are masked.',
      found.sink > 0 ? ' ' + percent(found.sink) + ' goes to a sink, that is to no position.' : ''),
    order.element, table,
  ];
}
