// The KV cache: what the model keeps of the tokens before, so that each new one needs a single position.

function makeCacheSection(look) {
  const figure = makeAnswerFigure('bytes of the KV cache by length; the parts stand in the table below');
  const slot = makeSlot(look.ask, {
    waits: (request) => 'Counting ' + count(request.parts.reduce((sum, [, tokens]) => sum + tokens, 0)) + ' positions …',
    draw: (answer, { parts }) => cacheAnswer(answer, parts, look.now().shape, figure),
  });
  const element = el('div', 'cards', card('', heading('What is kept when this token is chosen'),
    el('p', 'explained', 'For each earlier position, every layer keeps the keys and the values it computed. A new token then only needs its own pass; without the cache all positions would be read again.'),
    slot.element));
  return {
    element,
    open() {
      const { reading, position } = look.now();
      if (position === 0) return slot.say('Nothing stands before position 0: the cache is empty.');
      return slot.ask({ what: 'cache', ids: reading.ids.slice(0, position), parts: partsBefore(reading.tokens, position) });
    },
  };
}

function cacheAnswer(answer, parts, shape, figure) {
  const found = answer.look;
  const numbers = 2 * found.layers * found.kv_heads * found.head_size;
  const size = found.bytes_per_token / numbers;
  const exact = Number.isInteger(size);
  const rows = parts.map(([name, tokens]) => tableRow(name, el('span', 'mini', bar('', tokens / found.tokens)), count(tokens), bytesize(tokens * found.bytes_per_token), percent(tokens / found.tokens)));
  return [
    el('div', 'facts', fact('held by ' + count(found.tokens) + ' positions', bytesize(found.held)), fact('per token', bytesize(found.bytes_per_token)),
      found.reserved === null ? null : fact('set aside for this run', bytesize(found.reserved)), found.limit === null ? null : fact('at the full context of ' + count(found.limit), bytesize(found.limit * found.bytes_per_token))),
    exact ? el('p', 'say', 'Keys and values: 2 × ' + count(found.layers) + ' layers × ' + count(found.kv_heads) + ' key heads × ' + count(found.head_size) + ' numbers × ' + size + ' bytes (' + found.dtype + ') = ',
      el('b', '', count(found.bytes_per_token) + ' bytes'), ' for each token.',
      shape.heads > found.kv_heads ? ' Were each of the ' + count(shape.heads) + ' query heads to have its own, it would be ' + Number((shape.heads / found.kv_heads).toFixed(2)) + ' times that.' : '') : null,
    figure.show(answer),
    el('h3', '', 'Which part each message takes'),
    scrollTable('cache-parts', 'which part each message takes', ['message', '', 'positions', 'bytes', 'share'], rows),
  ];
}
