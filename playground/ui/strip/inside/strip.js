// The strip of the Inside tab: the tokens of the Playground's run, one of them selected. Nothing in it can be changed.

// Every token of a run in one row, as the looks need it: [{id, position, place, name, text, special, prompt, block, kind}].
function readingOf(run) {
  const blocks = blocksOf(run.segments, run.prompt);
  const given = [];
  blocks.forEach(({ kind, tokens }, block) => tokens.forEach((token) => {
    given[token.index] = { name: promptTokenName(token), prompt: true, place: token.index, block, kind, ...textAndId(token) };
  }));
  const made = run.lanes[0].steps.map((step, place) => ({ name: step.text, prompt: false, place, block: blocks.length, kind: 'answer', ...textAndId(step) }));
  const tokens = [...given, ...made].map((token, position) => ({ ...token, position }));
  return { run, steps: run.lanes[0].steps, model: run.model, tokens, ids: tokens.map(({ id }) => id), given: given.length, end: run.lanes[0].end };
}

function textAndId({ id, hex, special }) {
  return { id, special, text: decode(unhex(hex)) };
}

// `select(position)` hears which token was picked.
function makeInsideStrip(root, select) {
  const list = root.querySelector('#inside-strip');
  const legend = root.querySelector('.painted');
  let chips = [];
  let reading = null;

  walkChips(list, { within: () => list, hide() {}, pick: (chip) => select(chips.indexOf(chip)) });

  function show(made) {
    reading = made;
    const { run } = made;
    const prompt = makePrompt(run.segments, run.prompt, []);
    const lane = makeLane('inside');
    extendLane(lane, made.steps, 'surprise');
    if (made.end) endLane(lane, made.end);
    const body = el('div', 'body', ...lane.chips);
    body.setAttribute('role', 'group');
    const answer = el('div', 'block', el('small', 'who', 'answer'), body);
    answer.dataset.kind = 'answer';
    chips = [...prompt.chips, ...lane.chips];
    chips.forEach((chip, position) => {
      chip.title = [chip.title, 'position ' + position, 'id ' + reading.ids[position]].filter(Boolean).join(' · ');
    });
    list.replaceChildren(...prompt.elements, ...(lane.chips.length ? [answer] : []));
    paint(null);
  }

  function mark(position) {
    for (const chip of chips) {
      chip.setAttribute('aria-selected', 'false');
      chip.tabIndex = -1;
      delete chip.dataset.from;
    }
    chips[position].setAttribute('aria-selected', 'true');
    chips[position].tabIndex = 0;
    if (position) chips[position - 1].dataset.from = 'true';
    // In view within the strip alone: the page stays where it is.
    const { offsetTop, offsetHeight } = chips[position];
    const top = offsetTop - list.offsetTop;
    if (top < list.scrollTop || top + offsetHeight > list.scrollTop + list.clientHeight) list.scrollTop = top - list.clientHeight / 2;
  }

  // `painted`: {scores (by position), signed, words (the legend), told(position)}; null for no colour.
  function paint(painted) {
    const scores = painted ? painted.scores : [];
    const most = Math.max(...scores.map(Math.abs), 1e-12);
    chips.forEach((chip, position) => {
      const score = scores[position];
      const strength = score === undefined ? 0 : Math.abs(score) / most;
      chip.classList.toggle('tinted', strength > 0.02);
      chip.classList.add('calm');
      chip.dataset.sign = score < 0 ? 'minus' : 'plus';
      chip.style.setProperty('--w', (4 + 46 * strength).toFixed(1) + '%');
      chip.dataset.role = '';
    });
    legend.hidden = !painted;
    if (!painted) return;
    const scale = el('span', 'scale', el('span', '', painted.least), el('i', painted.signed ? 'both' : 'one'), el('span', '', painted.most));
    scale.setAttribute('aria-hidden', 'true');
    legend.replaceChildren(scale, el('span', 'unit', painted.words));
  }

  return { show, mark, paint, focus: (position) => roveTo(list, chips[position], true) };
}
