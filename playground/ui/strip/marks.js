// What every board of chips shares: its prompt, colours and their legend, selection, and walking by keyboard.

// The `prompt` operation: what was told of the prompt, and its chips in their blocks.
function takePrompt(run, op) {
  const prompt = op.tokens.map(readPromptToken);
  const { chips, elements } = makePrompt(op.segments, prompt, op.notes);
  Object.assign(run, { prompt, segments: op.segments, promptChips: chips, promptElements: elements });
}

function fillColours(chooser) {
  for (const [value, colour] of Object.entries(COLOURS)) {
    const option = el('option', '', colour.label);
    option.value = value;
    chooser.append(option);
  }
}

function showLegend(legend, mode) {
  const colour = COLOURS[mode];
  legend.dataset.mode = mode;
  legend.querySelector('.from').textContent = colour.from || '';
  legend.querySelector('.to').textContent = colour.to || '';
  legend.querySelector('.unit').textContent = colour.unit;
}

// Of the prompt, only what a person wrote is coloured: the template's own part is no surprise to anybody.
function paintRun(run, mode) {
  run.promptChips.forEach((chip, index) => {
    const token = run.prompt[index];
    const [kind, added] = run.segments[token.segment];
    paintChip(chip, added ? { ...token, prob: null, rank: null } : token, null, mode, added ? 'template' : kind);
  });
  for (const lane of run.lanes) lane.chips.forEach((chip, index) => paintChip(chip, lane.steps[index], lane, mode, 'assistant'));
}

function placeOf(chip) {
  const { lane, index } = chip.dataset;
  return { lane: lane === 'prompt' ? lane : Number(lane), index: Number(index) };
}

function tokenOf(run, { lane, index }) {
  return lane === 'prompt' ? run.prompt[index] : run.lanes[lane].steps[index];
}

function chipOf(run, { lane, index }) {
  return lane === 'prompt' ? run.promptChips[index] : run.lanes[lane]?.chips[index];
}

// One chip of the run is selected: this one.
function markChip(run, place) {
  unmark(run);
  run.selected = place;
  run.marked = chipOf(run, place);
  run.marked.setAttribute('aria-selected', 'true');
}

// The chip is kept with the run: another branch in its lane has a chip of its own in that place.
function unmark(run) {
  run.marked?.setAttribute('aria-selected', 'false');
  run.selected = run.marked = null;
}

// One chip of the list is reached by the Tab key: this one. `still`: the page does not scroll to it.
function roveTo(list, chip, still = false) {
  list.querySelectorAll('.token[tabindex="0"]').forEach((other) => { other.tabIndex = -1; });
  chip.tabIndex = 0;
  chip.focus({ preventScroll: still });
}

// Arrow keys walk the chips that `within(chip)` gives; a click or Enter picks one, Escape hides what hovers:
// `hide()` tells whether anything did.
function walkChips(strip, { within, pick, hide }) {
  strip.addEventListener('click', (event) => {
    const chip = event.target.closest('.token');
    if (chip) pick(chip);
  });
  strip.addEventListener('keydown', (event) => {
    const chip = event.target.closest('.token');
    if (!chip) return;
    const chips = [...within(chip).querySelectorAll('.token')];
    const at = chips.indexOf(chip);
    const goals = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: chips.length - 1 };
    if (event.key in goals) roveTo(within(chip), chips[Math.min(chips.length - 1, Math.max(0, goals[event.key]))]);
    else if (event.key === 'Enter' || event.key === ' ') pick(chip);
    else if (event.key !== 'Escape' || !hide()) return;
    event.preventDefault();
  });
}
