// The board: receives operations, owns the records of what it shows.

function startBoard(element, props, watch) {
  const find = (selector) => element.querySelector(selector);
  const strip = find('#strip');
  const inspector = find('#inspector');
  const popover = find('.popover');
  const chooser = find('#color-by');
  let run = null; // the run on the screen
  let latest = { run: 0, n: 0 };
  let drawing = false;

  for (const [value, colour] of Object.entries(COLOURS)) {
    const option = el('option', '', colour.label);
    option.value = value;
    chooser.append(option);
  }

  // Operations

  const operations = {
    status({ state, text }) {
      const busy = state !== 'idle' && state !== 'error';
      document.documentElement.dataset.run = busy ? 'busy' : 'idle';
      find('.status').dataset.state = state;
      find('.status .words').textContent = state === 'writing' ? '' : text;
      if (state === 'waiting' || state === 'loading' || state === 'error') find('.status').scrollIntoView({ block: 'nearest' });
    },

    reset(op) {
      run = {
        book: { texts: {}, names: [] }, vocabulary: op.vocabulary, context: op.context, weights: op.weights, prompt: [], promptChips: [],
        segments: [], lanes: [], selected: null, follow: true, promptElements: [], recorded: op.recorded,
      };
      for (let index = 0; index < op.lanes; index += 1) run.lanes.push(makeLane(index));
      inspector.classList.remove('open');
      mount();
    },

    prompt(op) {
      run.prompt = op.tokens.map(readPromptToken);
      run.segments = op.segments;
      const { chips, elements } = makePrompt(op.segments, run.prompt, op.notes);
      run.promptChips = chips;
      run.promptElements = elements;
      mount();
    },

    tokens(op) {
      Object.assign(run.book.texts, op.texts);
      run.book.names.push(...(op.names || []));
      const lane = run.lanes[op.lane];
      const first = !strip.querySelector('[tabindex="0"]');
      extendLane(lane, op.steps.map((record) => readStep(record, run.book)), chooser.value);
      if (first) lane.chips[0].tabIndex = 0;
      if (run.follow) mark({ lane: op.lane, index: lane.steps.length - 1 });
      draw();
    },

    truncate(op) {
      const lane = run.lanes[op.lane];
      const steps = cutLane(lane, op.length);
      extendLane(lane, steps, chooser.value);
      draw();
    },

    end(op) {
      const lane = run.lanes[op.lane];
      endLane(lane, op);
      showEnding();
      if (chooser.value === 'time') paintAll();
      if (run.follow && lane.steps.length) mark({ lane: op.lane, index: mostSurprising(lane.steps) });
      run.follow = false;
      draw();
    },
  };

  function receive(text) {
    if (!text) return;
    const message = JSON.parse(text);
    const late = message.run < latest.run || (message.run === latest.run && message.n <= latest.n);
    if (late) return;
    latest = { run: message.run, n: message.n };
    for (const op of message.ops) operations[op.op](op);
  }

  // Puts `run` on the screen, whether it is new or is shown again.
  function mount() {
    find('.lanes').replaceChildren(...run.lanes.map((lane) => lane.element));
    find('.plain').replaceChildren(...run.lanes.map((lane) => el('pre', '', lane.plain)));
    find('.prompt-strip').replaceChildren(...run.promptElements);
    find('.prompt-count').textContent = count(run.prompt.length) + ' tokens';
    element.firstElementChild.dataset.filled = 'yes';
    inspector.querySelector('.cards').replaceChildren();
    showNotice(find('.notice'), run);
    showEnding();
    hidePopover();
    paintAll();
    draw();
  }

  function showEnding() {
    find('.ending').textContent = (run.lanes[0].end && run.lanes[0].end.message) || '';
  }

  // Colours

  // Of the prompt, only what a person wrote is coloured: the template's own part is no surprise to anybody.
  function paintPrompt(chip, token) {
    const [kind, added] = run.segments[token.segment];
    paintChip(chip, added ? { ...token, prob: null, rank: null } : token, null, chooser.value, added ? 'template' : kind);
  }

  function paintAll() {
    const colour = COLOURS[chooser.value];
    find('.legend').dataset.mode = chooser.value;
    find('.legend .from').textContent = colour.from || '';
    find('.legend .to').textContent = colour.to || '';
    find('.legend .unit').textContent = colour.unit;
    if (!run) return;
    run.promptChips.forEach((chip, index) => paintPrompt(chip, run.prompt[index]));
    for (const lane of run.lanes) {
      lane.chips.forEach((chip, index) => paintChip(chip, lane.steps[index], lane, chooser.value, 'assistant'));
    }
  }

  // Selection

  function tokenAt({ lane, index }) {
    return lane === 'prompt' ? run.prompt[index] : run.lanes[lane].steps[index];
  }

  function chipAt({ lane, index }) {
    return lane === 'prompt' ? run.promptChips[index] : run.lanes[lane].chips[index];
  }

  function placeOf(chip) {
    const lane = chip.dataset.lane;
    return { lane: lane === 'prompt' ? lane : Number(lane), index: Number(chip.dataset.index) };
  }

  function mark(place) {
    if (run.selected) chipAt(run.selected)?.setAttribute('aria-selected', 'false');
    run.selected = place;
    chipAt(place).setAttribute('aria-selected', 'true');
  }

  function pick(chip) {
    run.follow = false;
    mark(placeOf(chip));
    rove(chip);
    inspector.classList.add('open');
    hidePopover();
    inspect();
    // As a sheet from the bottom the inspector must not cover what was tapped.
    if (getComputedStyle(inspector).position === 'fixed') chip.scrollIntoView({ block: 'start' });
  }

  function rove(chip) {
    strip.querySelectorAll('.token[tabindex="0"]').forEach((other) => { other.tabIndex = -1; });
    chip.tabIndex = 0;
    chip.focus({ preventScroll: false });
  }

  // Inspector and meters follow a run eight times a second: nobody reads faster, and drawing costs the most.
  function draw() {
    if (drawing) return;
    drawing = true;
    setTimeout(() => {
      drawing = false;
      find('.meters').replaceChildren(...metersOf(run, run.lanes[0]).map(([label, value]) => fact(label, value)));
      inspect();
    }, 125);
  }

  function inspect() {
    const token = run.selected && tokenAt(run.selected);
    if (!token) return;
    const total = token.prompt ? run.prompt.length : run.lanes[run.selected.lane].steps.length;
    const name = token.prompt ? flowing(piecesOf([token])[0].text).replace(/^ | $/g, '␣') : token.text;
    const cards = inspectorOf(token, name || spacedHex(token.hex), total, run.vocabulary);
    inspector.querySelector('.cards').replaceChildren(...cards);
  }

  // Popover

  let timer = 0;

  function showPopover(chip) {
    popover.replaceChildren(...popoverOf(tokenAt(placeOf(chip)), run.vocabulary));
    popover.hidden = false;
    placePopover(popover, chip);
  }

  function hidePopover() {
    clearTimeout(timer);
    popover.hidden = true;
  }

  function hover(chip) {
    clearTimeout(timer);
    timer = setTimeout(() => { if (chip.isConnected) showPopover(chip); }, popover.hidden ? 300 : 60);
  }

  strip.addEventListener('pointerover', (event) => {
    const chip = event.target.closest('.token');
    if (chip && event.pointerType !== 'touch') hover(chip);
  });
  strip.addEventListener('pointerout', (event) => {
    if (event.target.closest('.token') && !event.relatedTarget?.closest?.('.token')) hidePopover();
  });
  strip.addEventListener('focusin', (event) => {
    if (event.target.matches('.token:focus-visible')) hover(event.target);
  });
  strip.addEventListener('focusout', hidePopover);
  window.addEventListener('scroll', hidePopover, { passive: true });

  // Mouse, touch, keyboard

  strip.addEventListener('click', (event) => {
    const chip = event.target.closest('.token');
    if (chip) pick(chip);
  });

  strip.addEventListener('keydown', (event) => {
    const chip = event.target.closest('.token');
    if (!chip) return;
    const chips = [...strip.querySelectorAll('.token')];
    const at = chips.indexOf(chip);
    const goals = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: chips.length - 1 };
    if (event.key in goals) rove(chips[Math.min(chips.length - 1, Math.max(0, goals[event.key]))]);
    else if (event.key === 'Enter' || event.key === ' ') pick(chip);
    else if (event.key === 'Escape') hidePopover();
    else return;
    event.preventDefault();
  });

  chooser.addEventListener('change', paintAll);
  find('.close').addEventListener('click', () => inspector.classList.remove('open'));
  find('.copy').addEventListener('click', () => copyText(run ? run.lanes[0].plain.data : '', find('.copy')));
  document.addEventListener('keydown', (event) => {
    const writing = event.target.closest?.('#prompt, #system');
    if (writing && event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      document.querySelector('#generate').click();
    }
  });

  paintAll();
  watch('value', () => receive(props.value));
  receive(props.value);
}

function mostSurprising(steps) {
  return steps.reduce((best, step, index) => (step.prob < steps[best].prob ? index : best), 0);
}

async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'Select it and press Ctrl+C';
  }
  setTimeout(() => { button.textContent = 'Copy'; }, 1500);
}
