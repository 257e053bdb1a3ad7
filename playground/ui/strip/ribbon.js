// The pass ribbon: a wide block for prefill, then a tick per decode pass. A slider for the keyboard.

const SVG = 'http://www.w3.org/2000/svg';
const TICK_HEIGHT = 52; // pixels

function svgPart(tag, className) {
  const part = document.createElementNS(SVG, tag);
  part.setAttribute('class', className);
  return part;
}

// `choose(index)` is told which token's pass was picked, `nameOf(index)` gives a token's visible form.
function makeRibbon(choose, nameOf) {
  const block = el('div', 'prefill', el('i', 'reused'), el('span', 'words', el('b'), el('span')));
  const ticks = svgPart('svg', 'ticks');
  const parts = { own: svgPart('path', 'own'), given: svgPart('path', 'given'), selected: svgPart('path', 'selected'), under: svgPart('path', 'under') };
  ticks.append(...Object.values(parts));
  const track = el('div', 'passes', block, ticks);
  const readout = el('span', 'aside readout');
  const legend = el('div', 'pass-legend', el('p', 'read'), el('p', 'write'));
  const weights = el('p', 'weights');
  track.tabIndex = 0;
  track.setAttribute('role', 'slider');
  track.setAttribute('aria-label', 'passes through the model');
  track.setAttribute('aria-valuemin', '1');
  const ribbon = { width: 0, passes: null, layout: null, columns: [], selected: null, under: null };

  const columnOf = (index) => Math.floor((index - 1) / ribbon.layout.group);
  const one = (index) => (index > 0 ? barsPath(ribbon.columns, ribbon.layout.pitch, TICK_HEIGHT, (column) => column === ribbon.columns[columnOf(index)]) : '');

  function sayUnder() {
    const shown = ribbon.under != null ? ribbon.under : ribbon.selected;
    if (shown == null) readout.textContent = 'one reads the prompt, then one per token';
    else readout.replaceChildren(passWords(ribbon.passes, shown), ' → ', tokenName(nameOf(shown)));
    const group = ribbon.layout.group;
    if (shown > 0 && group > 1) readout.append(' · a column is ' + group + ' passes');
  }

  function draw() {
    if (!ribbon.passes || !ribbon.width) return;
    const { prefill } = ribbon.passes;
    ribbon.layout = ribbonLayout(ribbon.width, prefill.tokens, ribbon.passes.ticks.length);
    ribbon.columns = columnsOf(ribbon.passes.ticks, ribbon.passes.slowest, ribbon.layout.group);
    const { pitch } = ribbon.layout;
    block.style.width = ribbon.layout.block + 'px';
    block.firstElementChild.style.width = (100 * (prefill.reused || 0)) / Math.max(1, prefill.tokens) + '%';
    block.classList.toggle('selected', ribbon.selected === 0);
    const [title, facts] = block.querySelector('.words').children;
    title.textContent = 'prefill';
    facts.textContent = count(prefill.tokens) + ' tokens · ' + (prefill.time === 0 ? 'no pass' : milliseconds(prefill.time));
    parts.own.setAttribute('d', barsPath(ribbon.columns, pitch, TICK_HEIGHT, (column) => column.own));
    parts.given.setAttribute('d', barsPath(ribbon.columns, pitch, TICK_HEIGHT, (column) => !column.own));
    parts.selected.setAttribute('d', one(ribbon.selected));
    parts.under.setAttribute('d', one(ribbon.under));
    sayUnder();
  }

  function placeAt(event) {
    if (!ribbon.layout || !ribbon.passes.ticks.length) return 0;
    const x = event.clientX - ticks.getBoundingClientRect().left;
    if (x < -4) return 0;
    const column = ribbon.columns[Math.min(ribbon.columns.length - 1, Math.max(0, Math.floor(x / ribbon.layout.pitch)))];
    const within = Math.floor(((x / ribbon.layout.pitch) % 1) * (column.to - column.from));
    return 1 + Math.min(column.to - 1, column.from + Math.max(0, within));
  }

  track.addEventListener('pointermove', (event) => {
    if (!ribbon.passes || !ribbon.layout) return;
    ribbon.under = placeAt(event);
    parts.under.setAttribute('d', one(ribbon.under));
    sayUnder();
  });
  track.addEventListener('pointerleave', () => {
    ribbon.under = null;
    if (ribbon.layout) draw();
  });
  track.addEventListener('click', (event) => { if (ribbon.layout) choose(placeAt(event)); });
  track.addEventListener('keydown', (event) => {
    if (!ribbon.passes) return;
    const last = ribbon.passes.ticks.length;
    const at = ribbon.selected || 0;
    const goals = { ArrowRight: at + 1, ArrowUp: at + 1, ArrowLeft: at - 1, ArrowDown: at - 1, PageUp: at + 10, PageDown: at - 10, Home: 0, End: last };
    if (!(event.key in goals)) return;
    choose(Math.min(last, Math.max(0, goals[event.key])));
    event.preventDefault();
  });
  new ResizeObserver(([entry]) => {
    ribbon.width = entry.contentRect.width;
    draw();
  }).observe(track);

  return {
    elements: [track, legend, weights], readout,
    update(passes, selected, weightBytes) {
      Object.assign(ribbon, { passes, selected });
      if (ribbon.under > passes.ticks.length) ribbon.under = null;
      draw();
      const shown = selected == null ? 0 : selected;
      track.setAttribute('aria-valuemax', passes.ticks.length + 1);
      track.setAttribute('aria-valuenow', shown + 1);
      track.setAttribute('aria-valuetext', passWords(passes, shown) + ', made ' + nameOf(shown));
      const line = ([words, speed]) => (speed ? [words + ' · ', el('b', '', speed)] : [words]);
      legend.children[0].replaceChildren(el('b', '', 'Prefill'), ' reads ', ...line(prefillWords(passes.prefill)));
      legend.children[1].replaceChildren(el('b', '', 'Decode'), ' writes: ', ...line(decodeWords(passes)));
      weights.textContent = weightWords(weightBytes, passes.prefill);
    },
  };
}
