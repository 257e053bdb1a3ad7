// The popover of a chip: the ten likeliest at that place. Also the rows that it shares with the inspector.

// A candidate is a button: the run goes on from here with that token, unless it is the run's own. In place of a
// token of the prompt it makes another prompt; there only the raw numbers are, since no setting applied.
function candidateRow(candidate, step, largest, run = step) {
  const own = candidate.id === run.id;
  const given = run.prompt === true;
  const fixed = own || isAlone();
  const row = el(fixed ? 'div' : 'button', 'candidate');
  row.dataset.id = candidate.id;
  row.classList.toggle('chosen', candidate.id === step.id);
  row.classList.toggle('own', own);
  row.classList.toggle('cut', candidate.removedBy !== null);
  row.classList.toggle('given', given);
  const bars = el('span', 'bars', bar('raw', candidate.prob / largest), given ? null : bar('final', candidate.finalProb / largest));
  const outcome = candidate.removedBy === null ? el('b', 'final', percent(candidate.finalProb))
    : el('span', 'why', stageName(candidate.removedBy));
  const name = tokenName(candidate.text, candidate.special);
  if (candidate.tied) name.append(el('small', 'tie', '='));
  row.append(name, bars, el('span', 'raw', percent(candidate.prob)), ...(given ? [] : [outcome]));
  const facts = 'id ' + candidate.id + ' · rank ' + count(candidate.rank) + ' · logit '
    + (candidate.logit === null ? '−∞' : candidate.logit.toFixed(3))
    + (candidate.tied ? ', equal to its neighbour’s: the lower id comes first' : '')
    + (candidate.removedBy === null ? '' : ' · ' + reasonOf(step, candidate));
  row.title = fixed ? facts : facts + (given ? ' · click: run the prompt with this token in its place' : ' · click: go on from here with this token');
  if (!fixed) {
    row.type = 'button';
    const kept = candidate.removedBy === null ? ', final ' + percent(candidate.finalProb) : ', cut by ' + stageName(candidate.removedBy);
    row.setAttribute('aria-label', (given ? 'put in its place ' : 'go on with ') + candidate.text + ', raw ' + percent(candidate.prob) + (given ? '' : kept));
  }
  return row;
}

function othersRow(others, number, largest, given) {
  const bars = el('span', 'bars', bar('raw', others.prob / largest), given ? null : bar('final', others.finalProb / largest));
  const row = el('div', 'others', el('span', 'name', 'everything else'), bars,
    el('span', 'raw', percent(others.prob)), given ? null : el('b', 'final', percent(others.finalProb)));
  row.classList.toggle('given', given);
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
  const given = run.prompt === true;
  const names = el('div', 'columns', el('span', '', 'token'), el('span', ''), el('span', 'raw', 'raw'), given ? null : el('span', 'final', 'final'));
  names.classList.toggle('given', given);
  return [names, ...lines, othersRow(others, vocabulary - rows.length, shareOfOthers, given)];
}

// `problem`: why the rivals of a prompt token are not there, as far as that is known.
function popoverOf(token, vocabulary, problem) {
  if (!token.prompt) return distribution(token, vocabulary, 10);
  if (token.rivals) return distribution(token.rivals, vocabulary, 10, { run: token });
  const first = token.prob === null;
  const said = first ? 'The first token: nothing stands before it.'
    : 'The model gave this token ' + percent(token.prob) + ', rank ' + count(token.rank) + ', given the text before it.';
  return [
    el('p', 'said', said),
    el('p', 'said faint', 'id ' + token.id + ' · bytes ' + spacedHex(token.hex)),
    first ? null : el('p', 'said wait', problem || 'Reading what else it expected here …'),
  ].filter(Boolean);
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

// Shows the popover of the chip under the pointer or in focus. `rows(chip, problem)` fills it; `more(chip, told)` asks
// for what they lack, if anything; `fork(chip, id)` hears which candidate was chosen. Returns what hides it.
function startPopover(popover, strip, { rows, more = () => {}, fork }) {
  let timer = 0;
  let asking = 0;
  let at = null; // the chip it belongs to
  let quiet = false; // the chip takes the focus back: no reason to show it

  const buttons = () => [...popover.querySelectorAll('button')];
  const isInside = () => popover.contains(document.activeElement);

  function fill(chip, problem) {
    popover.replaceChildren(...rows(chip, problem));
    buttons().forEach((button) => { button.tabIndex = -1; }); // the arrow keys walk them
    popover.setAttribute('aria-label', 'what could stand at ' + chip.getAttribute('aria-label'));
    popover.hidden = false;
    placePopover(popover, chip);
  }

  // `wait`: how long, in milliseconds, before what the rows lack is asked for.
  function show(chip, wait = 0) {
    at = chip;
    fill(chip);
    const ask = () => more(chip, (problem) => { if (at === chip && !popover.hidden) fill(chip, problem); });
    if (wait) asking = setTimeout(ask, wait);
    else ask();
  }

  function focusChip() {
    quiet = true;
    at.focus({ preventScroll: true });
    quiet = false;
  }

  function hide() {
    clearTimeout(timer);
    clearTimeout(asking);
    if (isInside()) focusChip();
    const shown = !popover.hidden;
    popover.hidden = true;
    return shown;
  }

  // A moment to cross over to the popover, whose rows can be clicked.
  function leave() {
    clearTimeout(timer);
    if (!isInside()) timer = setTimeout(hide, 200);
  }

  function hover(chip) {
    if (isInside()) return;
    clearTimeout(timer);
    clearTimeout(asking);
    const [shown, asked] = popover.hidden ? [300, 0] : [60, 240];
    timer = setTimeout(() => { if (chip.isConnected) show(chip, asked); }, shown);
  }

  // Down from the chip into the rows; there up and down, and from the first row back up.
  function enter(chip) {
    if (popover.hidden || at !== chip) show(chip);
    buttons()[0]?.focus({ preventScroll: true });
  }

  function walk(event) {
    const all = buttons();
    const place = all.indexOf(document.activeElement);
    const goals = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: all.length - 1 };
    if (event.key === 'Tab') return hide(); // and on from the chip
    if (event.key === 'Escape' || goals[event.key] === -1) hide();
    else if (event.key in goals) all[Math.min(all.length - 1, goals[event.key])].focus({ preventScroll: true });
    else return undefined; // Enter and the space bar press the button
    event.stopPropagation();
    return event.preventDefault();
  }

  strip.addEventListener('pointerover', (event) => {
    const chip = event.target.closest('.token');
    if (chip && event.pointerType !== 'touch') hover(chip);
  });
  strip.addEventListener('pointerout', (event) => {
    if (event.target.closest('.token') && !event.relatedTarget?.closest?.('.token')) leave();
  });
  strip.addEventListener('focusin', (event) => {
    if (!quiet && event.target.matches('.token:focus-visible')) hover(event.target);
  });
  strip.addEventListener('focusout', (event) => { if (!popover.contains(event.relatedTarget)) hide(); });
  strip.addEventListener('keydown', (event) => {
    const chip = event.target.closest('.token');
    if (event.key !== 'ArrowDown' || !chip) return;
    event.preventDefault();
    enter(chip);
  });
  window.addEventListener('scroll', hide, { passive: true });
  popover.addEventListener('pointerenter', () => clearTimeout(timer));
  popover.addEventListener('pointerleave', leave);
  popover.addEventListener('pointerdown', (event) => event.preventDefault()); // the chip keeps the focus
  popover.addEventListener('keydown', walk);
  popover.addEventListener('focusout', (event) => { if (!popover.contains(event.relatedTarget) && event.relatedTarget) hide(); });
  popover.addEventListener('click', (event) => {
    const row = event.target.closest('button.candidate');
    if (!row) return;
    hide();
    fork(at, Number(row.dataset.id));
  });
  return hide;
}
