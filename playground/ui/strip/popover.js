// The popover of a chip: the ten likeliest at that place. Also the rows that it shares with the inspector.

// A candidate is a button: the run goes on from here with that token, unless it is the run's own.
function candidateRow(candidate, step, largest, run = step) {
  const own = candidate.id === run.id;
  const fixed = own || isAlone();
  const row = el(fixed ? 'div' : 'button', 'candidate');
  row.dataset.id = candidate.id;
  row.classList.toggle('chosen', candidate.id === step.id);
  row.classList.toggle('own', own);
  row.classList.toggle('cut', candidate.removedBy !== null);
  const bars = el('span', 'bars', bar('raw', candidate.prob / largest), bar('final', candidate.finalProb / largest));
  const outcome = candidate.removedBy === null ? el('b', 'final', percent(candidate.finalProb))
    : el('span', 'why', stageName(candidate.removedBy));
  const name = tokenName(candidate.text, candidate.special);
  if (candidate.tied) name.append(el('small', 'tie', '='));
  row.append(name, bars, el('span', 'raw', percent(candidate.prob)), outcome);
  const facts = 'id ' + candidate.id + ' · rank ' + count(candidate.rank) + ' · logit '
    + (candidate.logit === null ? '−∞' : candidate.logit.toFixed(3))
    + (candidate.tied ? ', equal to its neighbour’s: the lower id comes first' : '')
    + (candidate.removedBy === null ? '' : ' · ' + reasonOf(step, candidate));
  row.title = fixed ? facts : facts + ' · click: go on from here with this token';
  if (!fixed) {
    row.type = 'button';
    row.setAttribute('aria-label', 'go on with ' + candidate.text + ', raw ' + percent(candidate.prob) + ', '
      + (candidate.removedBy === null ? 'final ' + percent(candidate.finalProb) : 'cut by ' + stageName(candidate.removedBy)));
  }
  return row;
}

function othersRow(others, number, largest) {
  const bars = el('span', 'bars', bar('raw', others.prob / largest), bar('final', others.finalProb / largest));
  const row = el('div', 'others', el('span', 'name', 'everything else'), bars,
    el('span', 'raw', percent(others.prob)), el('b', 'final', percent(others.finalProb)));
  row.title = count(number) + ' tokens';
  return row;
}

// `reasons`: also say why each cut token was cut; once for neighbours that share the reason.
function distribution(step, vocabulary, most, { reasons = false, run = step } = {}) {
  const { rows, others } = likeliest(step, most);
  const tied = tiedIds(step);
  const largest = Math.max(...rows.map((row) => Math.max(row.prob, row.finalProb)), 1e-12);
  const shareOfOthers = Math.max(largest, others.prob, others.finalProb);
  let last = '';
  const lines = rows.flatMap((candidate) => {
    const row = candidateRow({ ...candidate, tied: tied.has(candidate.id) }, step, largest, run);
    const reason = candidate.removedBy === null ? '' : reasonOf(step, candidate);
    const told = reasons && reason && reason !== last ? [row, el('p', 'reason', reason)] : [row];
    last = reason;
    return told;
  });
  return [
    el('div', 'columns', el('span', '', 'token'), el('span', ''), el('span', 'raw', 'raw'), el('span', 'final', 'final')),
    ...lines,
    othersRow(others, vocabulary - rows.length, shareOfOthers),
  ];
}

function popoverOf(token, vocabulary) {
  if (token.prompt) {
    const said = token.prob === null ? 'The first token: nothing stands before it.'
      : 'The model gave this token ' + percent(token.prob) + ', rank ' + count(token.rank) + ', given the text before it.';
    return [el('p', 'said', said), el('p', 'said faint', 'id ' + token.id + ' · bytes ' + spacedHex(token.hex))];
  }
  return distribution(token, vocabulary, 10);
}

// Puts the popover under the chip, or above it where there is more room.
function placePopover(popover, chip) {
  const box = chip.getBoundingClientRect();
  const width = popover.offsetWidth;
  const height = popover.offsetHeight;
  const left = Math.min(Math.max(8, box.left - 12), document.documentElement.clientWidth - width - 8);
  const below = box.bottom + 8;
  const top = below + height < window.innerHeight || box.top < height + 8 ? below : box.top - height - 8;
  popover.style.left = Math.max(8, left) + 'px';
  popover.style.top = top + 'px';
}

// Shows the popover of the chip under the pointer or in focus. `rows(chip)` fills it, `fork(chip, id)` hears
// which candidate was clicked. Returns what hides it.
function startPopover(popover, strip, { rows, fork }) {
  let timer = 0;
  let at = null; // the chip it belongs to

  function show(chip) {
    at = chip;
    popover.replaceChildren(...rows(chip));
    popover.querySelectorAll('button').forEach((button) => { button.tabIndex = -1; }); // for the pointer only
    popover.hidden = false;
    placePopover(popover, chip);
  }

  function hide() {
    clearTimeout(timer);
    popover.hidden = true;
  }

  // A moment to cross over to the popover, whose rows can be clicked.
  function leave() {
    clearTimeout(timer);
    timer = setTimeout(hide, 200);
  }

  function hover(chip) {
    clearTimeout(timer);
    timer = setTimeout(() => { if (chip.isConnected) show(chip); }, popover.hidden ? 300 : 60);
  }

  strip.addEventListener('pointerover', (event) => {
    const chip = event.target.closest('.token');
    if (chip && event.pointerType !== 'touch') hover(chip);
  });
  strip.addEventListener('pointerout', (event) => {
    if (event.target.closest('.token') && !event.relatedTarget?.closest?.('.token')) leave();
  });
  strip.addEventListener('focusin', (event) => {
    if (event.target.matches('.token:focus-visible')) hover(event.target);
  });
  strip.addEventListener('focusout', hide);
  window.addEventListener('scroll', hide, { passive: true });
  popover.addEventListener('pointerenter', () => clearTimeout(timer));
  popover.addEventListener('pointerleave', leave);
  popover.addEventListener('pointerdown', (event) => event.preventDefault()); // the chip keeps the focus
  popover.addEventListener('click', (event) => {
    const row = event.target.closest('button.candidate');
    if (!row) return;
    hide();
    fork(at, Number(row.dataset.id));
  });
  return hide;
}
