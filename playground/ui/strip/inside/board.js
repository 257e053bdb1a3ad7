// The Inside tab: the run of the Playground, one of its tokens, and six ways to look inside the model there. Each look
// is asked for when it is opened, never before.

const INSIDE_SECTIONS = {
  embeddings: makeEmbeddingSection, positions: makePositionSection, attention: makeAttentionSection,
  lens: makeLensSection, influence: makeInfluenceSection, cache: makeCacheSection,
};

async function startInsideBoard(element, props, watch, trigger, server) {
  const find = (selector) => element.querySelector(selector);
  const root = find('.inside');
  const said = find('.standing');
  const panels = {}; // by section: {element, section}
  const painted = {}; // by section: what it has painted on the strip, and for which position
  let board = null; // the Playground's
  let reading = null;
  let position = 0;
  let taken = null; // the selection of the Playground that was followed last
  let shape = null;
  let bound = null;
  let layer = 0;
  let head = 0;
  let open = 'embeddings';
  let visible = false;

  const ask = (request) => server.inside({ model: reading.model, ...request });
  const picker = makeHeadPicker((atLayer, atHead) => setHead(atLayer, atHead));
  const strip = makeInsideStrip(root, select);
  const standIn = card('', el('div', 'heading', el('h2', '', 'Before anything is looked at')));
  const models = makeSlot(ask, {
    waits: () => 'Asking what the model is made of …',
    draw({ look, bound: most }) {
      shape = look;
      bound = most;
      layer = Math.min(layer, shape.layers - 1);
      head = Math.min(head, shape.heads - 1);
      picker.fit(shape);
      picker.set(layer, head);
      root.dataset.shape = 'known';
      standIn.remove();
      find('.made-of').append(models.element);
      setTimeout(openSection);
      return [modelFacts(shape)];
    },
  });

  const look = {
    ask, select,
    picker: picker.element,
    now: () => ({ reading, position, shape, layer, head }),
    bound: () => bound,
    setHead,
    paint(made) {
      painted[open] = { position, made };
      strip.paint(made);
    },
  };

  function setHead(atLayer, atHead) {
    [layer, head] = [atLayer, atHead];
    picker.set(layer, head);
    openSection();
  }

  function select(place) {
    position = place;
    strip.mark(position);
    find('.choice').replaceChildren(...sentence(choiceWords(reading.tokens, position)));
    openSection();
  }

  // Sections

  function openSection() {
    for (const tab of find('#inside-sections').children) {
      const chosen = tab.dataset.section === open;
      tab.setAttribute('aria-selected', String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    }
    if (!shape || !reading) return;
    if (!panels[open]) panels[open] = makePanel(open);
    for (const [name, panel] of Object.entries(panels)) panel.element.hidden = name !== open;
    const kept = painted[open];
    strip.paint(kept && kept.position === position ? kept.made : null);
    panels[open].section.open();
  }

  function makePanel(name) {
    const section = INSIDE_SECTIONS[name](look);
    const panel = el('div', 'inside-panel', section.element);
    panel.dataset.section = name;
    panel.id = 'inside-panel-' + name;
    panel.setAttribute('role', 'tabpanel');
    panel.setAttribute('aria-labelledby', 'inside-tab-' + name);
    // Drawn once everything that was asked for is there.
    panel.addEventListener('settled', () => {
      const states = [...panel.querySelectorAll('.slot[data-state]')].map((slot) => slot.dataset.state);
      panel.dataset.ready = String(states.every((state) => state === 'ready'));
    });
    find('.panels').append(panel);
    return { element: panel, section };
  }

  find('#inside-sections').addEventListener('click', (event) => {
    const tab = event.target.closest('[data-section]');
    if (!tab) return;
    open = tab.dataset.section;
    openSection();
  });
  find('#inside-sections').addEventListener('keydown', (event) => {
    const tabs = [...find('#inside-sections').children];
    const at = tabs.indexOf(event.target.closest('[data-section]'));
    const goals = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: tabs.length - 1 };
    if (!(event.key in goals)) return;
    event.preventDefault();
    const tab = tabs[(goals[event.key] + tabs.length) % tabs.length];
    tab.click();
    tab.focus();
  });

  // The run

  function forgetAnswers() {
    for (const [name, panel] of Object.entries(panels)) {
      panel.element.remove();
      delete panels[name];
      delete painted[name];
    }
  }

  // Another model has other heads: what it is made of is asked anew.
  function forgetModel() {
    shape = null;
    delete root.dataset.shape;
    models.forget();
    forgetAnswers();
    standIn.append(models.element);
    find('.panels').append(standIn);
  }

  function show(run) {
    const model = reading && reading.model;
    reading = readingOf(run);
    root.dataset.filled = 'yes';
    find('.tokens').textContent = count(reading.ids.length) + ' tokens, positions from 0';
    find('.whose').replaceChildren(...whoseWords(run));
    strip.show(reading);
    if (model !== reading.model) forgetModel();
    else forgetAnswers();
  }

  function positionOf(place) {
    return place.lane === 'prompt' ? place.index : reading.given + place.index;
  }

  // The strip follows the Playground's run once that rests, and its selection where that moved.
  function sync() {
    if (!visible || !board) return;
    const run = board.now();
    const going = run && board.busy();
    said.textContent = !run || !run.prompt.length ? 'Nothing to look into yet: generate an answer on the Playground.'
      : going ? 'A run is being written on the Playground. The strip follows when it ends.' : '';
    if (!run || !run.prompt.length || going) return;
    const { steps } = run.lanes[0];
    const fresh = !reading || reading.run !== run || reading.steps !== steps || reading.ids.length !== run.prompt.length + steps.length;
    const chosen = run.selected ? JSON.stringify(run.selected) : null;
    if (fresh) show(run);
    if (fresh || (chosen && chosen !== taken)) {
      const wanted = run.selected ? positionOf(run.selected) : reading.given;
      position = Math.min(wanted, reading.ids.length - 1);
    }
    taken = chosen;
    strip.mark(position);
    find('.choice').replaceChildren(...sentence(choiceWords(reading.tokens, position)));
    models.ask({ what: 'shape' });
    openSection();
  }

  new IntersectionObserver(([entry]) => {
    visible = entry.isIntersecting;
    sync();
  }).observe(root);
  new MutationObserver(sync).observe(document.documentElement, { attributes: true, attributeFilter: ['data-run'] });
  followModel(() => {
    forgetModel();
    sync();
  });
  openSection();
  board = await borrow('run');
  sync();
}

function whoseWords(run) {
  if (!run.recorded) return ['The run of the Playground.'];
  return [run.live === undefined ? 'The recorded run of the Playground' : 'A saved run', ', made with ', el('bdi', '', run.recorded.model), '.'];
}

function modelFacts(shape) {
  const positions = { rotary: 'rotary', learned: 'learned table', none: 'none' }[shape.positions] || 'not known';
  return el('div', 'facts', fact('layers', count(shape.layers)), fact('query heads', count(shape.heads)), fact('key heads', count(shape.kv_heads)),
    fact('numbers a head', count(shape.head_size)), fact('width', count(shape.width)), fact('positions', positions),
    fact('sliding window', windowsWords(shape)), fact('parameters', millions(shape.parameters)));
}
