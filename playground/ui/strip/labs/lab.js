// One lab: its question, its form, what it found, and how it measures.

// `acts`: {run(name, options), halt(), command(lab, values)}. Made once, so that nothing is lost while others are looked at.
function makeLab(lab, acts) {
  const form = makeLabForm(lab.options, told);
  const run = button('quiet strong', 'Run');
  const stop = button('quiet', 'Stop');
  Object.assign(run, { id: 'lab-run' });
  Object.assign(stop, { id: 'lab-stop', disabled: true });
  const bar = el('progress');
  Object.assign(bar, { max: 1, value: 0 });
  bar.setAttribute('aria-label', 'how far it is');
  const now = el('span', 'now');
  now.setAttribute('role', 'status');
  const progress = el('div', 'going', bar, now);
  Object.assign(progress, { id: 'lab-progress', hidden: true });

  const line = el('code');
  const copy = button('quiet copy', 'Copy');
  const command = el('div', 'command', el('small', '', 'The same in a terminal'), line, copy);
  const caution = el('p', 'caution');
  const blocks = el('div', 'blocks');
  const facts = el('p', 'measured');
  const save = button('quiet save', 'Save as a file');
  save.disabled = true;
  const result = el('section', 'lab-result', caution, blocks, el('div', 'row', facts, save));
  result.hidden = true;
  result.setAttribute('aria-label', 'what was found');

  const element = el('article', 'lab',
    el('section', 'card ask', el('h2', '', lab.question), form.element, el('div', 'row', run, stop, progress), command),
    result,
    el('section', 'card method', el('div', 'heading', el('h3', '', 'How it is measured')), ...lab.method.map((text) => el('p', '', text)),
      el('div', 'heading', el('h3', '', 'What it cannot tell')), ...lab.bounds.map((text) => el('p', '', text))));
  element.dataset.lab = lab.name;
  let drawn = [];
  let kept = '';

  run.addEventListener('click', () => {
    form.clear();
    acts.run(lab.name, form.values());
  });
  stop.addEventListener('click', acts.halt);
  copy.addEventListener('click', () => copyText(line.textContent, copy));
  save.addEventListener('click', () => {
    const link = el('a');
    link.href = URL.createObjectURL(new Blob([kept + '\n'], { type: 'application/json' }));
    link.download = 'lab-' + lab.name + '.json';
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });

  function told() { line.textContent = acts.command(lab, form.values()); }

  told();
  return {
    element,
    told,
    refuse: form.refuse,
    // `mine`: this lab is measured; `busy`: one is.
    going(busy, mine) {
      const inside = document.activeElement;
      run.disabled = busy;
      stop.disabled = !mine;
      if (!busy) progress.hidden = true;
      if (busy && mine && inside === run) stop.focus();
      if (!busy && inside === stop) run.focus();
    },
    begin() {
      drawn = [];
      kept = '';
      save.disabled = true;
      result.hidden = true;
      delete result.dataset.complete;
      blocks.replaceChildren();
      caution.textContent = '';
      progress.hidden = false;
      bar.value = 0;
      now.textContent = '';
    },
    progress({ share, text }) {
      progress.hidden = false;
      bar.value = share;
      if (now.textContent !== text) now.textContent = text;
    },
    show(op) {
      for (const [place, block] of op.blocks) drawn[place] = drawBlock(block);
      drawn.length = op.size;
      for (const [place, block] of drawn.entries()) if (blocks.children[place] !== block) blocks.insertBefore(block, blocks.children[place] || null);
      while (blocks.children.length > drawn.length) blocks.lastChild.remove();
      result.hidden = false;
      result.dataset.complete = op.complete ? 'yes' : 'no';
      facts.replaceChildren(...factsOf(op));
      caution.textContent = op.others ? 'Others ran at the same time, up to ' + plural(op.others, 'lane') + ' in a pass with these: times are longer than on a free machine.' : '';
    },
    // Nothing more comes of this run.
    ended(text) {
      kept = text;
      save.disabled = false;
      if (result.dataset.complete !== 'yes') facts.prepend(el('b', '', 'Stopped early: this is what was measured until then.'), ' ');
    },
  };
}

function factsOf({ model, dtype, device, seconds, created }) {
  const when = new Date(created);
  const words = [dtype + ' on ' + device, milliseconds(seconds * 1000), when.toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' })];
  return [el('bdi', '', model), ' · ' + words.join(' · ')];
}
