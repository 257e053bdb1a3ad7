// What mattered: how much each earlier token moved the chance of the one that was chosen.

const INFLUENCES = {
  gradient: ['Input × gradient', 'One pass back through the model: how the raw logprob of this token would move with each earlier embedding, times that embedding. A straight-line estimate at this one point.'],
  integrated: ['Integrated gradients', 'The same, averaged along the way from a blank input to the real one. With passes enough the scores would add up to the whole change of the logprob; the gap says how far they are from that.'],
  rollout: ['Attention rollout', 'Attention of all layers multiplied through, with the part that skips each block: where what is read can have come from. It knows no sign and is no cause; position 0 gets much of it.'],
};
const PASSES = 32; // of integrated gradients, as the server makes them

function makeInfluenceSection(look) {
  const method = makeSegments('method', 'method', Object.entries(INFLUENCES).map(([value, [label]]) => [value, label]), ask);
  const by = makeSegments('by', 'sum by', [['token', 'By token'], ['word', 'By word'], ['message', 'By message']], redraw);
  const explained = el('p', 'explained');
  const figure = makeAnswerFigure('what each earlier token did for the chosen one; the same is painted on the strip and listed below');
  const list = el('div', 'groups');
  let answered = null; // {scores, position}

  const slot = makeSlot(look.ask, {
    waits: (request) => (request.method === 'integrated' ? 'Reading ' + count(PASSES) + ' passes over ' + count(request.position) + ' positions, there and back; this takes a while. The rest of the page stays free …'
      : 'Reading ' + count(request.position) + ' positions' + (request.method === 'gradient' ? ', there and back …' : ' …')),
    failed() {
      answered = null;
      look.paint(null);
    },
    draw(answer) {
      answered = answer.look;
      redraw();
      const { total, gap, dtype, steps } = answered;
      const nats = (value) => signedNumber(value, 3) + ' nats';
      return [
        total === null ? null : el('div', 'facts', fact('logprob, less that of a blank input', nats(total)), fact('sum of the scores', nats(total - gap)),
          fact('gap', nats(gap)), fact('passes', count(steps))),
        missedWords(answered) ? el('p', 'say missed', missedWords(answered)) : null,
        list, figure.show(answer),
        el('p', 'foot', (answered.method === 'rollout' ? 'From the attention weights of every layer, averaged over its heads, for' : 'Computed in ' + dtype + ' for')
          + ' the ' + count(answered.position) + ' positions before the token, of at most ' + count(look.bound()) + '. The run stays as it is.'),
      ];
    },
  });

  function redraw() {
    if (!answered) return;
    const { reading } = look.now();
    const signed = answered.method !== 'rollout';
    const groups = groupScores(answered.scores, groupsOf(reading.tokens, by.value()));
    const scores = groups.flatMap(({ from, to, score }) => Array(to - from).fill(score));
    const most = Math.max(...groups.map(({ score }) => Math.abs(score)), 1e-12);
    const say = (score) => (signed ? signedNumber(score, 3) : percent(score));
    look.paint({
      scores, signed, least: signed ? '−' + most.toFixed(2) : '0', most: signed ? '+' + most.toFixed(2) + ' nats' : percent(most),
      words: signed ? 'blue spoke for this token, amber against it' : 'share of what was read',
    });
    const ranked = groups.map((group, place) => ({ ...group, place })).sort((a, b) => Math.abs(b.score) - Math.abs(a.score) || a.place - b.place).slice(0, 12);
    const rows = ranked.map(({ from, to, name, score }) => {
      const track = el('span', 'mini' + (signed ? ' both' : ''), bar(score < 0 ? 'minus' : '', (Math.abs(score) / most) * (signed ? 0.5 : 1)));
      const row = tableRow(to - from === 1 ? count(from) : count(from) + '–' + count(to - 1), by.value() === 'message' ? name : tokenName(name), track, say(score));
      row.dataset.from = from;
      return row;
    });
    list.replaceChildren(scrollTable('influence-rows', 'what mattered most', ['position', by.value(), '', signed ? 'nats' : 'share'], rows));
  }

  function ask() {
    const { reading, position } = look.now();
    explained.textContent = INFLUENCES[method.value()][1];
    if (!answered || answered.position !== position || answered.token_id !== reading.ids[position]) {
      answered = null;
      look.paint(null);
    }
    const refused = whyNot(position, look.bound());
    if (refused) return slot.say(refused);
    slot.ask({ what: 'influence', ids: reading.ids.slice(0, position + 1), position, method: method.value() });
    return redraw();
  }

  const element = el('div', 'cards', card('', heading('Which tokens mattered for this choice'),
    el('div', 'row', method.element, by.element), explained, slot.element));
  return { element, open: ask };
}
