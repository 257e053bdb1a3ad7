// One chip per token.

function makeChip(token, laneName) {
  const chip = el('span', 'token');
  chip.dataset.lane = laneName;
  chip.dataset.index = token.index;
  chip.dataset.id = token.id;
  chip.setAttribute('role', 'option');
  chip.setAttribute('aria-selected', 'false');
  chip.tabIndex = -1;
  if (token.prompt) chip.classList.add('prompt');
  if (token.special) chip.classList.add('special');
  return chip;
}

// Text of a chip: the blank before a word stays outside the colour, so that a line break leaves no stub.
function fillChip(chip, token, piece, breaks) {
  const part = piece.part !== undefined;
  chip.classList.toggle('part', part || piece.broken === true);
  chip.title = piece.broken ? 'bytes that are no character' : !part ? ''
    : piece.parts ? 'part ' + piece.part + ' of ' + flowing(piece.text) : 'part of a character that is not complete';
  if (part || piece.broken) {
    const label = part ? el('small', '', ' ' + piece.part + '/' + (piece.parts || '…') + ' ') : null;
    const whole = part && piece.part === piece.parts ? el('b', '', flowing(piece.text)) : null;
    chip.replaceChildren(el('span', 'ink', spacedHex(token.hex), label, whole));
    chip.dataset.part = piece.part || '';
  } else if (piece.text === '') {
    chip.replaceChildren(el('span', 'ink unknown', 'id ' + token.id));
  } else {
    const shown = flowing(piece.text);
    const word = shown.replace(/^ +(?=[^ ])/, '');
    const ink = el('span', 'ink', /^ +$/.test(word) ? '␣'.repeat(word.length) : word);
    chip.replaceChildren(shown.slice(0, shown.length - word.length), ink);
    if (breaks && piece.text.endsWith('\n')) chip.append(el('br'));
  }
  nameChip(chip, token, piece);
}

function nameChip(chip, token, piece) {
  const text = piece.part !== undefined || piece.broken ? 'bytes ' + spacedHex(token.hex) : "'" + flowing(piece.text) + "'";
  const numbers = token.prob === null ? [] : [percent(token.prob), 'rank ' + token.rank];
  const place = (token.prompt ? 'prompt token ' : 'token ') + (token.index + 1);
  chip.setAttribute('aria-label', [place, text, ...numbers].join(', '));
}

function paintChip(chip, token, lane, mode, role) {
  const strength = COLOURS[mode].of(token, lane);
  chip.style.setProperty('--s', strength.toFixed(3));
  chip.classList.toggle('calm', strength < 0.03);
  chip.dataset.role = mode === 'role' ? role : '';
}

// Prompt tokens in blocks, one per turn: a template's closing marker belongs to the turn before it, its
// opening marker to the turn after. Pure: [{kind, added, tokens}].
function blocksOf(segments, tokens) {
  const blocks = [];
  let waiting = []; // the template's tokens that open the next block
  const runs = []; // neighbouring segments of the template are one
  for (const token of tokens) {
    const [kind, added] = segments[token.segment];
    const last = runs[runs.length - 1];
    if (last && last.kind === kind && (kind === 'template' || last.segment === token.segment)) last.own.push(token);
    else runs.push({ kind, added, segment: token.segment, own: [token] });
  }
  runs.forEach(({ kind, added, own }) => {
    if (kind !== 'template') {
      blocks.push({ kind, added: added === 1, tokens: waiting.concat(own) });
      waiting = [];
      return;
    }
    if (blocks.length) {
      const closing = own.findIndex((token) => token.special) + 1;
      const after = closing > 0 && own[closing] && own[closing].hex === '0a' ? closing + 1 : closing;
      blocks[blocks.length - 1].tokens.push(...own.slice(0, after));
      waiting.push(...own.slice(after));
    } else {
      waiting.push(...own);
    }
  });
  if (waiting.length && blocks.length) blocks[blocks.length - 1].tokens.push(...waiting);
  else if (waiting.length) blocks.push({ kind: 'template', added: true, tokens: waiting });
  return blocks;
}

function makePrompt(segments, tokens, notes) {
  const pieces = piecesOf(tokens);
  const chips = [];
  const elements = blocksOf(segments, tokens).map((block) => {
    const body = el('div', 'body');
    body.setAttribute('role', 'group');
    for (const token of block.tokens) {
      const chip = makeChip(token, 'prompt');
      fillChip(chip, token, pieces[token.index], segments[token.segment][0] !== 'template');
      chip.dataset.segment = segments[token.segment][0];
      chips[token.index] = chip;
      body.append(chip);
    }
    const label = el('small', 'who', BLOCKS[block.kind] || block.kind);
    if (block.added && block.kind !== 'generation_prompt') label.append(el('em', '', ' · added by the template'));
    const element = el('div', 'block', label, body);
    element.dataset.kind = block.added && block.kind === 'system' ? 'template' : block.kind;
    return element;
  });
  return { chips, elements: elements.concat(notes.map((note) => el('p', 'note', note))) };
}
