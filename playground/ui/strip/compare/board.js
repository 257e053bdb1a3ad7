// The Compare board: receives operations, owns the records of the lanes it shows.

function startCompareBoard(element, props, watch, trigger, server) {
  const find = (selector) => element.querySelector(selector);
  const root = find('.compare');
  const grid = find('.stage-of-lanes > .lanes');
  const chooser = find('.colours');
  const runs = { lanes: null, samples: null, sweep: null }; // the latest of each kind
  let live = null; // the run that operations speak of
  let asked = null; // the cards that the latest request was made of
  let drawing = false;

  const run = () => runs[form.kind()];
  const busy = () => root.dataset.run === 'busy';
  const referenceOf = (of) => of.lanes.indexOf(cards.reference()?.lane); // -1 where it did not run

  fillColours(chooser);
  const cards = startLaneCards(find('#reference'), {
    changed: () => mount(),
    renamed: () => results.draw(),
    choose: (card) => results.against(run().lanes.indexOf(card.lane)),
    refer: () => refer(),
    refused: (words) => say('error', words),
    taken: () => (runs.lanes ? runs.lanes.lanes.length : 0),
  }, () => form.sameDice());
  const form = startCompareForm(find, cards.list, {
    kind: () => mount(),
    ask(question) {
      form.setKind('lanes');
      cards.replace(question.lanes.map(([name, params]) => ({ name, params })));
    },
    dice: () => cards.settings(),
    run: begin,
    stop: () => trigger('halt', {}),
    add: () => cards.fresh(),
  });
  const results = startResults(find, {
    run, busy,
    open: (place) => inspector.open(place),
    reference: referenceOf,
    shown: (lane) => run().kind !== 'lanes' || cards.list().includes(lane.card),
    ask: (name, request) => server[name](request),
    strip: (place) => showStrip(place, 0),
  });
  const files = startFiles(root, find('.files'), {
    save: (format) => trigger('save', { format, ...standing() }),
    open: (data) => { asked = null; trigger('open', { data }); },
    fail: (words) => say('error', words),
  });
  const inspector = startDrawer(root, find('.drawer'), {
    run, fork,
    strips: find('.stage-of-lanes'),
    ask: (request) => server.look(request),
  });

  // Requests

  function begin() {
    asked = cards.list().slice();
    if (run()) unmarkEnds(run().lanes);
    say('going', 'Asking …');
    trigger('run', form.read());
  }

  // What is on the page is saved: lanes that were taken away are not, and names are as they read now.
  function standing() {
    const of = run();
    const shown = form.kind() === 'lanes' ? cards.list().filter((card) => of.lanes.includes(card.lane)) : of.cards;
    const lanes = shown.map((card) => of.lanes.indexOf(card.lane));
    const reference = referenceOf(of);
    return { lanes, names: shown.map((card) => card.name), reference: lanes.includes(reference) ? reference : lanes[0] };
  }

  function fork({ lane, index, id }) {
    const from = run();
    if (from.live === false) return say('error', from.why);
    if (lane === 'prompt') return say('error', 'All lanes read one prompt: change it in the form above.');
    if (from.kind !== 'lanes') return say('error', 'A fork stands beside other lanes: choose Side by side and run there.');
    if (cards.list().length >= MOST_LANES) return say('error', 'A comparison has at most ' + MOST_LANES + ' lanes: remove one first.');
    const own = from.lanes[lane];
    const forced = [...own.steps.slice(0, index).map((step) => step.id), id];
    inspector.close();
    const known = own.steps[index].id === id ? index + 1 : index;
    const name = own.card.name + ', token ' + (index + 1);
    const prompt = from.prompt.map((token) => token.id);
    return trigger('fork', { model: from.model, prompt_ids: prompt, forced, known, from: lane, params: own.params, name: [...name].slice(-60).join('') });
  }

  // Operations

  function say(state, text) {
    const going = state !== 'idle' && state !== 'error';
    const over = busy() && !going;
    root.dataset.run = going ? 'busy' : 'idle';
    find('#compare-stop').disabled = !going;
    find('.status').dataset.state = state;
    find('.status .words').textContent = state === 'writing' ? '' : text;
    if (state === 'error') find('.status').scrollIntoView({ block: 'nearest' });
    if (!going) Object.values(runs).forEach((each) => markEnds(each ? each.lanes : []));
    if (over) results.draw();
    draw();
  }

  const operations = {
    status: ({ state, text }) => say(state, text),

    reset(op) {
      const made = {
        ...op, book: { texts: {}, names: [] }, prompt: [], promptChips: [], promptElements: [], segments: [], lanes: [], cards: [],
        aligned: [], selected: null, against: null, rows: [], overview: null, every: false, shown: 0, params: null,
      };
      if (op.kind !== form.kind()) form.setKind(op.kind);
      const opened = !asked;
      if (opened) form.set({ ...op.said, same_dice: op.batch.same_dice, exact: op.batch.exact, params: op.params[0], sweep: op.sweep });
      if (op.kind !== 'lanes') made.cards = op.names.map((name, number) => makeLaneCard({ name, params: op.params[number], number }, { choose() {} }, true));
      else {
        const fits = asked && asked.length === op.lanes && asked.every((card) => cards.list().includes(card));
        if (!fits) cards.replace(op.names.map((name, place) => ({ name, params: op.params[place] })), op.reference || 0);
        made.cards = fits ? asked : cards.list().slice();
        cards.number(made.cards);
      }
      runs[op.kind] = live = made;
      for (let place = 0; place < op.lanes; place += 1) addLane(made, place, op.params[place], made.cards[place]);
      inspector.close();
      mount();
    },

    prompt(op) {
      takePrompt(live, op);
      if (live === run()) mountPrompt();
    },

    lane(op) {
      live.book = { texts: {}, names: [] }; // the server tells texts and names anew
      const card = cards.add({ name: op.name, params: laneParams(op.params) }, undefined, op.lane);
      live.cards[op.lane] = card;
      addLane(live, op.lane, op.params, card);
      extendLane(live.lanes[op.lane], live.lanes[op.from].steps.slice(0, op.known), chooser.value);
      first(live.lanes[op.lane]);
      alignAnew(live, referenceOf(live));
      mount();
      card.element.scrollIntoView({ block: 'nearest' });
    },

    tokens(op) {
      const lane = live.lanes[op.lane];
      extendLane(lane, readSteps(op, live.book), chooser.value);
      first(lane);
      if (live.kind === 'lanes') alignLanes(live, referenceOf(live), op.lane);
      draw();
    },

    end(op) {
      endLane(live.lanes[op.lane], op);
      if (chooser.value === 'time') paint();
      draw();
    },

    numbers(op) {
      live.rows = op.rows;
      results.draw();
    },

    tree(op) {
      live.overview = makeSampleTree(op.tree, (lane, index) => showStrip(lane, index));
      mount();
    },

    figure(op) {
      const heat = makeSweepCard(live.sweep.setting, (row, column) => showStrip(row, column));
      live.overview = heat.element;
      mount();
      heat.show(op.figure);
    },

    file: (op) => { saveFile(op).catch(() => say('error', 'The browser could not save the file.')); },
  };

  const { receive } = startReceiving(operations, (text, message) => loan.heard(text, message));

  function addLane(of, place, params, card) {
    const lane = makeLane(place);
    Object.assign(lane, { params, card });
    of.lanes[place] = lane;
    of.aligned[place] = { shared: 0, parts: null };
    card.show(lane);
  }

  function first(lane) {
    if (lane.chips[0] && !lane.list.querySelector('[tabindex="0"]')) lane.chips[0].tabIndex = 0;
  }

  function refer() {
    const of = runs.lanes;
    if (!of) return;
    of.against = null;
    alignAnew(of, referenceOf(of));
    results.draw();
    draw();
  }

  // What is on the screen

  function mount() {
    const of = run();
    root.dataset.kind = form.kind();
    const shown = form.kind() === 'lanes' ? cards.list() : of ? of.cards : [];
    grid.replaceChildren(...shown.map((card) => card.element));
    root.classList.toggle('ran', Boolean(of));
    find('.overview').replaceChildren(...(of && of.overview ? [of.overview] : []));
    find('.stage-of-lanes .all').hidden = !(of && of.overview);
    root.classList.remove('single');
    if (of && form.kind() !== 'lanes') mountStrips();
    inspector.hidePopover();
    mountPrompt();
    paint();
    results.draw();
    draw();
  }

  function mountPrompt() {
    const of = run();
    find('.prompt-strip').replaceChildren(...(of ? of.promptElements : []));
    find('.prompt-count').textContent = of ? count(of.prompt.length) + ' tokens' : '';
    if (of && of.promptChips[0]) of.promptChips[0].tabIndex = 0;
    tellNotice(find('.notice'), of);
  }

  // Where many lanes have an overview, one strip at a time stands below it, unless all are wanted.
  function mountStrips() {
    const of = run();
    of.cards.forEach((card, place) => { card.element.hidden = Boolean(of.overview && !of.every && place !== of.shown); });
    root.classList.toggle('single', Boolean(of.overview && !of.every));
    const all = find('.stage-of-lanes .all');
    all.textContent = of.every ? 'Show one strip' : 'Show every strip';
    all.setAttribute('aria-pressed', String(of.every));
  }

  function showStrip(place, index) {
    const of = run();
    of.shown = place;
    mountStrips();
    if (chipOf(of, { lane: place, index })) inspector.open({ lane: place, index });
  }

  function paint() {
    showLegend(find('.legend'), chooser.value);
    if (run()) paintRun(run(), chooser.value);
  }

  // Words of the cards a few times a second: nobody reads faster.
  function draw() {
    if (drawing) return;
    drawing = true;
    setTimeout(() => {
      drawing = false;
      const of = run();
      files.allow(Boolean(of && of === live && of.rows.length && !busy()));
      if (!of) return;
      of.lanes.forEach((lane) => lane.card.tell());
      if (of.kind === 'lanes') tellStanding(of, referenceOf(of), busy());
      inspector.draw();
    }, 170);
  }

  chooser.addEventListener('change', paint);
  find('.stage-of-lanes .all').addEventListener('click', () => {
    run().every = !run().every;
    mountStrips();
  });

  cards.replace(QUESTIONS[0].lanes.map(([name, params]) => ({ name, params })));
  const loan = {
    receive, standing, busy, heard() {}, forget() {},
    now: run,
    mode: () => chooser.value,
    untouched: () => !live,
    begin() {
      runs[live.kind] = live = null;
      mount();
    },
    mine() {
      live.kept = () => loan.forget();
      mountPrompt();
    },
    choose: (place) => (place.lane === 'prompt' ? inspector.open(place) : showStrip(place.lane, place.index)),
    figures: () => figuresIn(root),
    setup: (model) => setupOfRequest(form.read(), cards.list().indexOf(cards.reference()), model),
    fill(setup) {
      const { request, lanes, left } = requestOfSetup(setup);
      form.set(request);
      form.setKind(setup.kind);
      if (setup.kind === 'lanes') cards.replace(lanes, setup.reference);
      return left;
    },
  };
  lend('comparison', loan);
  watch('value', () => receive(props.value));
  receive(props.value);
}
