// What there is to know about a rendered prompt: its special tokens, markers that are none, what differs.

function showExplained(card, { explained, unexplained }) {
  card.hidden = !explained.length;
  const used = explained.filter((each) => each.count);
  card.querySelector('.aside').textContent = used.length ? plural(used.length, 'kind') + ' in this prompt' : 'none in this prompt';
  const rows = (some) => some.flatMap(({ id, text, meaning, count: times }) => [
    el('dt', '', tokenName(text, true), el('small', '', ' id ' + id + (times ? ' · ' + times + '×' : ''))), el('dd', '', meaning),
  ]);
  const others = explained.filter((each) => !each.count);
  const more = card.querySelector('.unused');
  card.querySelector('dl').replaceChildren(...rows(used));
  more.hidden = !others.length;
  more.querySelector('summary').textContent = plural(others.length + (unexplained || 0), 'special token') + ' that this prompt does not use';
  more.querySelector('dl').replaceChildren(...rows(others));
  more.querySelector('.left').textContent = unexplained ? 'and ' + count(unexplained) + ' more' : '';
}

const SIGNED = { '+': ['ins', '+'], '-': ['del', '−'] };

function showAgainst(card, { diff, same, differs, undiffed, pieces }, template) {
  const own = template === 'own';
  card.hidden = own;
  if (own) return;
  const box = card.querySelector('.diff');
  const said = undiffed || (differs === null ? 'Not available here: this model has no template of its own.'
    : same ? 'To the letter the same text as the model’s own template makes of these messages.'
      : 'Struck out with −: what its own template would have written. Underlined with +: what stands there instead.');
  card.querySelector('.same').textContent = said;
  box.hidden = !diff || Boolean(same);
  box.replaceChildren(...(diff || []).map(([op, text]) => {
    const [tag, sign] = SIGNED[op] || ['span', ''];
    const part = el(tag, '', writtenOut(text));
    if (sign) part.dataset.sign = sign;
    return part;
  }));
  card.querySelector('.split').replaceChildren(...splitMarkers(pieces || []));
}

function splitMarkers(pieces) {
  if (!pieces.length) return [];
  const lines = pieces.map(({ marker, texts, ids }) => el('li', '', el('code', '', marker), ' becomes ' + texts.length + ': ',
    ...texts.map((text, i) => { const piece = el('span', 'bit', tokenName(text)); piece.title = 'id ' + ids[i]; return piece; })));
  const one = pieces.length === 1;
  return [
    el('p', '', (one ? 'This marker is' : 'These markers are') + ' no single token to this model: ' + (one ? 'it reads it' : 'it reads them') + ' as ordinary text, in pieces.'),
    el('ul', '', ...lines),
  ];
}
