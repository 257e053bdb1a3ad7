// The board: receives operations, owns the records of what it shows.

function startBoard(element, props, watch, trigger, server) {
  const find = (selector) => element.querySelector(selector);
  const strip = find('#strip');
  const inspector = find('#inspector');
  const popover = find('.popover');
  const chooser = find('#color-by');
  let run = null; // the run on the screen: the live one, or an earlier turn
  let live = null; // the run that operations speak of
  let drawing = false;
  let held = null; // the place of the chip that had the focus when the strip was filled anew
  const first = props.value; // what the page came with

  fillColours(chooser);

  const talk = startTurns(find, (turn) => {
    run = turn;
    mount();
  }, () => run, () => loan.forget());

  const showTime = startTiming(element, find('.timing'), () => run);

  const fork = (detail) => element.dispatchEvent(new CustomEvent('fork', { detail }));
  const look = makeInspector(find('#inspector .cards'), { ask: (request) => server.look(request), fork });
  const rivals = makeRivals((request) => server.look(request));
  const hidePopover = startPopover(popover, strip, {
    rows: (chip, problem) => popoverOf(tokenOf(run, placeOf(chip)), run.vocabulary, problem),
    more: (chip, told) => {
      const token = tokenOf(run, placeOf(chip));
      if (token.prompt && token.prob !== null && !token.rivals) rivals.read(run, token, ({ problem }) => told(problem));
    },
    fork: (chip, id) => fork({ ...placeOf(chip), id }),
  });

  const silence = startSilence((text) => {
    find('.status').dataset.state = 'waiting';
    find('.status .words').textContent = text;
  });

  const hand = startHand({
    element, find,
    trigger: (name, more) => {
      silence.asked();
      trigger(name, more);
    },
    say: (text) => operations.status({ state: 'error', text }),
    mode: () => chooser.value,
    run: () => run,
    adopt: (other) => {
      if (other !== run) talk.revisit(other);
      run = live = other;
    },
    rewind: talk.rewind,
    mount: (place, other = run) => {
      if (other !== run) talk.revisit(other);
      run = other;
      mount();
      if (place) mark(place);
      showTime();
    },
  });

  // Operations

  const operations = {
    ...hand.operations,

    pause(op) {
      hand.operations.pause(op, live);
      draw();
    },

    status({ state, text }) {
      const busy = state !== 'idle' && state !== 'error' && state !== 'paused';
      document.documentElement.dataset.run = busy ? 'busy' : 'idle';
      find('.status').dataset.state = state;
      find('.status .words').textContent = state === 'writing' ? '' : text;
      if (run && !busy) markEnds(run.lanes); // a run that did not begin leaves the old one as it was
      if (run) draw();
      if (state === 'waiting' || state === 'loading' || state === 'error') find('.status').scrollIntoView({ block: 'nearest' });
    },

    turn({ messages }) {
      talk.said(messages);
    },

    watch({ tokens }) {
      live.watched = makeWatched(tokens);
      if (run === live) mount();
    },

    reset(op) {
      if (op.recorded) talk.said(null); // whatever chat was going, this is no turn of it
      run = live = {
        book: { texts: {}, names: [] }, vocabulary: op.vocabulary, context: op.context, weights: op.weights, prompt: [], promptChips: [],
        segments: [], lanes: [], selected: null, follow: true, promptElements: [], recorded: op.recorded, model: op.model,
        live: op.live, frozen: op.live === false ? op.why : '',
      };
      talk.begin(run);
      for (let index = 0; index < op.lanes; index += 1) run.lanes.push(makeLane(index));
      hand.begun(run, op.params, op.beside);
      inspector.classList.remove('open');
      mount();
    },

    prompt(op) {
      takePrompt(live, op);
      greyShared(live);
      if (run === live) mount();
      if (run === live && !live.recorded) showAnswer();
    },

    tokens(op) {
      const lane = goingLane(live, op.lane);
      const first = !lane.steps.length && !strip.querySelector('[tabindex="0"]');
      extendLane(lane, readSteps(op, live.book), chooser.value);
      if (first) lane.chips[0].tabIndex = 0;
      if (held) holdFocus();
      if (live.follow && lane === live.lanes[op.lane]) mark({ lane: op.lane, index: lane.steps.length - 1 }, live);
      draw();
    },

    truncate(op) {
      const lane = live.lanes[op.lane];
      const steps = cutLane(lane, op.length);
      extendLane(lane, steps, chooser.value);
      draw();
    },

    end(op) {
      const lane = goingLane(live, op.lane);
      endLane(lane, op);
      showEnding();
      if (chooser.value === 'time') paintAll();
      if (live.follow && lane.steps.length && lane === live.lanes[op.lane]) mark({ lane: op.lane, index: restingPlace(lane) }, live);
      live.follow = false;
      talk.draw(run);
      draw();
    },
  };

  const incoming = startReceiving(operations, (text, message) => loan.heard(text, message));

  function receive(text) {
    if (text) silence.heard(); // what comes late is a sign of the server too
    incoming.receive(text);
  }

  // Puts `run` on the screen, whether it is new or is shown again.
  function mount() {
    const focused = document.activeElement;
    if (focused.matches('.token') && strip.contains(focused)) held = placeOf(focused);
    find('.lanes').replaceChildren(...run.lanes.map((lane) => lane.element));
    find('.plain').replaceChildren(...run.lanes.map((lane) => el('pre', '', lane.plain)));
    find('.prompt-strip').replaceChildren(...run.promptElements);
    find('.prompt-count').textContent = count(run.prompt.length) + ' tokens';
    element.firstElementChild.dataset.filled = 'yes';
    inspector.querySelector('.cards').replaceChildren();
    if (!strip.querySelector('[tabindex="0"]') && run.promptChips[0]) run.promptChips[0].tabIndex = 0;
    talk.draw(run);
    find('.watch').hidden = !run.watched;
    find('.watch .rows').replaceChildren(...(run.watched || []).map((each) => each.row));
    showEnding();
    hidePopover();
    paintAll();
    draw();
    if (held) holdFocus();
  }

  // On a phone the answer begins far below the button that asked for it.
  function showAnswer() {
    const below = find('.lanes').getBoundingClientRect().top > window.innerHeight * 0.8;
    if (below && window.matchMedia('(max-width: 760px)').matches) strip.scrollIntoView({ block: 'start' });
  }

  // Whoever forked by keyboard goes on from the chip in that place, or from the last before it.
  function holdFocus() {
    const chips = held.lane === 'prompt' ? run.promptChips : run.lanes[0].chips;
    const chip = chips[Math.min(held.index, chips.length - 1)];
    if (!chip) return;
    held = null;
    if (document.activeElement === document.body) roveTo(strip, chip, true);
  }

  function showEnding() {
    find('.ending').textContent = (run.lanes[0].end && run.lanes[0].end.message) || '';
  }

  // Colours

  function paintAll() {
    showLegend(find('.legend'), chooser.value);
    if (run) paintRun(run, chooser.value);
  }

  // Selection

  const mark = (place, of = run) => markChip(of, place);

  function pick(chip) {
    run.follow = false;
    mark(placeOf(chip));
    roveTo(strip, chip);
    inspector.classList.add('open');
    hidePopover();
    inspect();
    showTime();
    // As a sheet from the bottom the inspector must not cover what was tapped.
    if (getComputedStyle(inspector).position === 'fixed') chip.scrollIntoView({ block: 'start' });
  }

  // Inspector and meters follow a run six times a second: nobody reads faster, and drawing costs the most.
  function draw() {
    if (drawing) return;
    drawing = true;
    setTimeout(() => {
      drawing = false;
      if (!run) return;
      live.lanes.forEach(settlePlain);
      find('.meters').replaceChildren(...metersOf(run, run.lanes[0]).map(([label, value]) => fact(label, value)));
      showTime();
      hand.draw();
      drawThought(find, run);
      inspect();
    }, 170);
  }

  function inspect() {
    if (run.watched) drawWatched(run.watched, run.lanes[0].steps, Math.max(0, run.selected?.index ?? 0));
    const token = run.selected && tokenOf(run, run.selected);
    if (!token) return;
    look.show(token, run.selected, run, (token.prompt ? promptTokenName(token) : token.text) || spacedHex(token.hex));
  }

  // Mouse, touch, keyboard

  walkChips(strip, { within: () => strip, pick, hide: hidePopover });

  // From ribbon, timeline and table. (Text fields send an event of this name too, without a place.)
  element.addEventListener('select', ({ detail }) => {
    if (!detail || !run || !chipOf(run, detail)) return;
    run.follow = false;
    mark(detail);
    inspector.classList.add('open');
    inspect();
    showTime();
  });

  chooser.addEventListener('change', paintAll);
  find('.close').addEventListener('click', () => inspector.classList.remove('open'));
  find('.copy').addEventListener('click', () => copyText(run ? run.lanes[0].plain.data : '', find('.copy')));
  document.addEventListener('click', (event) => {
    if (!event.target.closest?.('#generate')) return;
    silence.asked();
    if (run) unmarkEnds(run.lanes);
  }, true);
  document.addEventListener('keydown', (event) => {
    const writing = event.target.closest?.('#prompt, #system');
    if (writing && event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      document.querySelector('#generate').click();
    }
  });

  // What the page came with, again; an empty board where that was nothing.
  function begin() {
    incoming.restart();
    if (first) return receive(first);
    run = live = null;
    delete element.firstElementChild.dataset.filled;
    find('.notice').hidden = true;
    return talk.said(null);
  }

  const loan = {
    receive, begin, heard() {}, forget() {},
    now: () => run,
    mode: () => chooser.value,
    busy: isBusy,
    untouched: () => incoming.run() <= 1,
    mine() {
      run.kept = true;
      talk.draw(run);
    },
    choose: (place) => element.dispatchEvent(new CustomEvent('select', { detail: place })),
  };
  lend('run', loan);

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
