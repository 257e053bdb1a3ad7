// One lane of the answer: its steps, its chips, its plain text.

function makeLane(index) {
  const chips = el('div', 'chips');
  chips.setAttribute('role', 'listbox');
  chips.setAttribute('aria-label', 'tokens of the answer');
  const element = el('div', 'lane', chips);
  element.dataset.lane = index;
  return {
    index, element, list: chips, steps: [], chips: [], ends: [], plain: document.createTextNode(''),
    openFrom: 0, // first token whose character is not whole yet
    heldFrom: 0, // first token whose text is held back
    released: 0, // UTF-16 units of text let through
    waiting: '', // plain text that is not on the page yet
    slowest: 1, end: null,
  };
}

function extendLane(lane, steps, mode) {
  for (const step of steps) {
    const chip = makeChip(step, lane.index);
    lane.steps.push(step);
    lane.chips.push(chip);
    lane.slowest = Math.max(lane.slowest, step.time);
    paintChip(chip, step, lane, mode, 'assistant');
    const text = step.released === undefined ? decode(unhex(step.hex)) : step.released;
    lane.released += text.length;
    lane.waiting += text;
  }
  layChips(lane);
  appendChips(lane, lane.chips.length - steps.length);
}

// Plain text joins the page a few times a second, since all of it is laid out again each time.
function settlePlain(lane) {
  if (!lane.waiting) return;
  lane.plain.appendData(lane.waiting);
  lane.waiting = '';
}

// Texts of the chips from the first that was not whole on, and which of them are held back: a token whose
// bytes are whole but whose text was not let through may yet be part of a stop string.
function layChips(lane) {
  const from = lane.openFrom;
  const pieces = piecesOf(lane.steps.slice(from));
  let open = lane.steps.length;
  pieces.forEach((piece, i) => {
    const index = from + i;
    const step = lane.steps[index];
    if (piece.parts === null) open = Math.min(open, index);
    const whole = piece.part === undefined || piece.part === piece.parts;
    const length = step.special ? (step.released === undefined ? piece.text : step.released).length : whole ? piece.text.length : 0;
    lane.ends[index] = (index ? lane.ends[index - 1] : 0) + length;
    fillChip(lane.chips[index], step, piece, true);
  });
  lane.openFrom = open;
  for (let index = lane.heldFrom; index < lane.steps.length; index += 1) {
    const held = lane.ends[index] > lane.released;
    lane.chips[index].classList.toggle('held', held);
    if (!held && index === lane.heldFrom) lane.heldFrom += 1;
  }
}

function cutLane(lane, length) {
  const steps = lane.steps.slice(0, length);
  lane.list.replaceChildren();
  Object.assign(lane, { steps: [], chips: [], ends: [], openFrom: 0, heldFrom: 0, released: 0, end: null });
  lane.plain.data = lane.waiting = '';
  delete lane.element.dataset.finished;
  return steps;
}

function everything(steps) {
  return piecesOf(steps).map((piece, index) => {
    if (steps[index].special) return steps[index].released || '';
    return piece.part === undefined || piece.part === (piece.parts || 1) ? piece.text : '';
  }).join('');
}

function endLane(lane, op) {
  settlePlain(lane);
  lane.end = op;
  lane.element.dataset.finished = op.reason;
  for (const chip of lane.chips.slice(lane.heldFrom)) chip.classList.remove('held');
  for (const [index] of op.trimmed || []) {
    if (lane.steps[index].special) continue; // an end token is never part of the text
    lane.chips[index].classList.add('trimmed');
    lane.chips[index].title = 'cut by the stop string';
  }
  if (op.text !== undefined) lane.plain.data = op.text;
  else if (op.reason === 'stopped') lane.plain.data = everything(lane.steps); // with what was still held back
}

// Whoever presses Generate waits for the end of the new run: the old one's mark must not answer for it.
function unmarkEnds(lanes) {
  for (const lane of lanes) delete lane.element.dataset.finished;
}

function markEnds(lanes) {
  for (const lane of lanes) if (lane.end) lane.element.dataset.finished = lane.end.reason;
}
