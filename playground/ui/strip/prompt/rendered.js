// The rendered text and its tokens, each lit up by the other.

const WRITERS = { ...BLOCKS, template: 'the template’s', user: 'user', raw: 'who wrote it cannot be told' };

// A line break is seen and also breaks the line.
function writtenOut(text) {
  return flowing(text).replaceAll('⏎', '⏎\n');
}

function makeRendered({ text, segments, tokens, template }) {
  const elements = segments.map(({ kind, added }) => {
    const element = el('span', 'segment');
    element.dataset.kind = kind;
    element.dataset.added = added ? 'yes' : 'no';
    element.title = (template === null && kind === 'raw' ? 'your text' : WRITERS[kind] || kind) + (added && kind !== 'generation_prompt' && kind !== 'template' ? ', added by the template' : '');
    return element;
  });
  for (const stretch of stretchesOf(text, segments, tokens)) {
    const piece = el('span', stretch.tokens.some((index) => tokens[index].special) ? 'piece special' : 'piece', writtenOut(text.slice(stretch.start, stretch.end)));
    if (stretch.tokens.length) piece.dataset.index = stretch.tokens[0];
    piece.dataset.tokens = stretch.tokens.join(' ');
    elements[stretch.segment]?.append(piece);
  }
  return elements;
}

// Tokens as this tab's answers have them, as the chips of the boards want them.
function tokenForChip({ id, bytes, special, segment = 0 }, index) {
  return { index, position: index, id, hex: bytes, special, segment, prompt: true, prob: null, rank: null };
}

function makeTokenChips(tokens) {
  const made = tokens.map(tokenForChip);
  const pieces = piecesOf(made);
  return made.map((token, index) => {
    const chip = makeChip(token, 'prompt');
    fillChip(chip, token, pieces[index], false);
    chip.append(el('small', 'id', String(token.id)));
    chip.setAttribute('aria-label', chip.getAttribute('aria-label') + ', id ' + token.id);
    return chip;
  });
}

function startRendered(field, list, pointed) {
  let shown = null;

  function light(indices) {
    for (const each of [...field.querySelectorAll('.lit'), ...list.querySelectorAll('.lit')]) each.classList.remove('lit');
    pointed.replaceChildren();
    if (!indices.length || !shown) return;
    const wanted = new Set(indices.map(String));
    for (const piece of field.querySelectorAll('.piece')) {
      if (piece.dataset.tokens.split(' ').some((index) => wanted.has(index))) piece.classList.add('lit');
    }
    indices.forEach((index) => list.children[index]?.classList.add('lit'));
    const token = shown.tokens[indices[0]];
    const segment = shown.segments[token.segment];
    const whose = segment ? (shown.template === null && segment.kind === 'raw' ? 'your text' : WRITERS[segment.kind] || segment.kind) : '';
    pointed.append('token ' + (indices[0] + 1) + ' of ' + count(shown.tokens.length) + ' · ', tokenName(token.text, token.special),
      ' · id ' + token.id + ' · bytes ' + spacedHex(token.bytes) + (whose ? ' · ' + whose : '') + (token.mixed ? ', and a bit of its neighbour’s' : '')
      + (indices.length > 1 ? ' · ' + indices.length + ' tokens share this character' : ''));
  }

  const ofPiece = (target) => {
    const piece = target.closest?.('.piece');
    return piece && piece.dataset.tokens ? piece.dataset.tokens.split(' ').map(Number) : [];
  };
  const ofChip = (target) => {
    const chip = target.closest?.('.token');
    return chip ? [Number(chip.dataset.index)] : [];
  };
  for (const [box, read] of [[field, ofPiece], [list, ofChip]]) {
    box.addEventListener('pointerover', (event) => light(read(event.target)));
    box.addEventListener('pointerleave', () => light([]));
    box.addEventListener('click', (event) => light(read(event.target)));
  }
  list.addEventListener('focusin', (event) => light(ofChip(event.target)));
  walkChips(list, { within: () => list, pick: (chip) => { roveTo(list, chip); light(ofChip(chip)); }, hide: () => light([]) });

  function show(prompt) {
    shown = prompt;
    field.replaceChildren(...makeRendered(prompt));
    list.replaceChildren(...makeTokenChips(prompt.tokens));
    if (list.firstChild) list.firstChild.tabIndex = 0;
    light([]);
  }

  return { show, text: () => (shown ? shown.text : '') };
}
