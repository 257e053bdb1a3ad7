// Any text as tokens, under one or two tokenizers; and words, letter by letter and piece by piece.

// Asks once the typing rests, for `wait` milliseconds; only the latest answer is shown.
function startAsking(wait, send, show) {
  const asker = makeAsker(send);
  let timer = 0;
  return (request) => {
    clearTimeout(timer);
    asker.drop();
    timer = setTimeout(() => asker.ask(request(), show), wait);
  };
}

function makeCut({ name, first, tokens, characters, bytes, per_token: each, notes }) {
  const facts = [plural(tokens.length, 'token'), plural(characters, 'character'), plural(bytes, 'byte'),
    ...(tokens.length ? [each.toFixed(2) + ' characters per token'] : [])];
  const chips = el('div', 'chips', ...makeTokenChips(tokens));
  for (const chip of chips.children) {
    chip.title = 'id ' + chip.dataset.id + ' · bytes ' + spacedHex(tokens[chip.dataset.index].bytes);
  }
  chips.setAttribute('role', 'listbox');
  chips.setAttribute('aria-label', 'tokens by ' + name);
  if (chips.firstChild) chips.firstChild.tabIndex = 0;
  walkChips(chips, { within: () => chips, pick: (chip) => roveTo(chips, chip), hide() {} });
  const before = first && first.length ? el('p', 'before', 'Before every text it puts ', ...first.map(({ text }) => tokenName(text, true)), '.') : null;
  return el('div', 'cut', el('p', 'name', el('b', '', name), ' · ' + facts.join(' · ')), chips, before,
    ...(notes || []).map((note) => el('p', 'note', note)));
}

function startTokenizer(section, server) {
  const find = (selector) => section.querySelector(selector);
  const choice = find('#tokenizer-with');
  const ask = startAsking(150, (request) => server.tokenize(request), (told) => {
    find('.fault').textContent = told.error || told.missing || '';
    if (told.error) return;
    find('.cuts').replaceChildren(...told.sides.map(makeCut));
    fill(told.offered);
  });

  function fill(offered) {
    const others = offered.filter(Boolean);
    const kept = choice.value;
    choice.parentElement.hidden = !others.length;
    find('.only').textContent = others.length ? '' : 'No second tokenizer to compare with: this server offers one model.';
    if ([...choice.options].slice(1).map((option) => option.value).join('\n') === others.join('\n') && choice.options.length) return;
    choice.replaceChildren(Object.assign(el('option', '', 'nothing'), { value: '' }), ...others.map((name) => Object.assign(el('option', '', name), { value: name })));
    choice.value = others.includes(kept) ? kept : '';
  }

  const look = () => ask(() => ({ text: find('#tokenizer-text').value, with: choice.value || null }));
  find('#tokenizer-text').addEventListener('input', look);
  choice.addEventListener('change', look);
  choice.parentElement.hidden = true;
  return { look };
}

// A piece with the model's surprise at it.
function makeWordPiece({ text, id, prob, rank, letters }) {
  const ink = el('span', 'ink', flowing(text) || '‹id ' + id + '›');
  const chip = el('span', 'token piece-of-word', ink, el('small', '', prob === undefined || prob === null ? '' : percent(prob)));
  chip.style.setProperty('--s', (prob === undefined || prob === null ? 0 : rarity(prob)).toFixed(3));
  chip.title = 'id ' + id + (rank ? ' · rank ' + count(rank) : '') + (letters ? ' · in it: ' + [...letters].join(' ') : '');
  return chip;
}

function makeWord({ word, pieces, bits, alone, letters, counts, reversed }) {
  const line = (name, ...parts) => el('div', 'line', el('span', 'label', name), el('span', 'parts', ...parts));
  const plain = (each) => el('span', 'bit', tokenName(each.text));
  return el('article', 'word',
    el('h3', '', el('bdi', '', word), el('small', '', ' ' + plural(letters.length, 'letter') + ', ' + plural(pieces.length, 'piece')
      + (bits !== null ? ' · ' + bits.toFixed(1) + ' bits of surprise' : ''))),
    line('the model gets', ...pieces.map(makeWordPiece)),
    line('without a space before', ...alone.map(plain)),
    line('you see', ...letters.map((letter) => el('span', 'letter', letter))),
    line('letters', lettersInWords(counts)),
    reversed ? line('backwards', el('bdi', 'backwards', reversed.word), ' is ', ...reversed.pieces.map(plain)) : null);
}

function startWords(section, server) {
  const find = (selector) => section.querySelector(selector);
  const button = find('.look');
  const ask = startAsking(0, (request) => server.words(request), (told) => {
    button.disabled = false;
    find('.fault').textContent = told.error || '';
    if (told.error) return;
    find('.context').replaceChildren('Read after “', el('b', '', told.context), '”: under each piece the probability that the model gave it, given the pieces before. '
      + 'It never sees the letters inside a piece: counting or reversing them is recalling, not reading.');
    find('.found').replaceChildren(...told.words.map(makeWord));
  });

  function look() {
    button.disabled = true;
    ask(() => ({ text: find('#words').value }));
  }
  button.addEventListener('click', look);
  find('#words').addEventListener('keydown', (event) => { if (event.key === 'Enter') look(); });
  return { look };
}
