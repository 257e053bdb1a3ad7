// The settings of a lane: a line that says them, and sliders with numbers that it opens.

// `changed()` hears of every change of `params`, which are changed in place. `seeded()`: whether it has dice of its own.
function makeSettingsEditor(params, name, { changed, seeded }) {
  const line = el('button', 'set');
  line.type = 'button';
  line.setAttribute('aria-expanded', 'false');
  const panel = el('div', 'editor');
  panel.hidden = true;

  function say() {
    line.replaceChildren(settingsWords(seeded() ? params : { ...params, seed: '' }), el('span', 'pen', 'Edit'));
    line.setAttribute('aria-label', 'settings of ' + name() + ': ' + line.firstChild.data + '. Edit');
    const dice = panel.querySelector('.own-seed');
    if (dice) dice.hidden = !seeded();
  }

  function build() {
    const rows = LANE_SETTINGS.map((each) => settingRow(each, params, name, () => { say(); changed(); }));
    const seed = el('input');
    Object.assign(seed, { type: 'text', inputMode: 'numeric', value: params.seed || '', placeholder: 'drawn' });
    seed.setAttribute('aria-label', 'seed of ' + name());
    seed.addEventListener('input', () => { params.seed = seed.value.trim(); say(); changed(); });
    panel.replaceChildren(...rows, el('label', 'own-seed', el('span', '', 'seed of its own dice'), seed));
  }

  function open(wanted) {
    panel.hidden = !wanted;
    line.setAttribute('aria-expanded', String(wanted));
    if (wanted) build();
    say();
  }

  line.addEventListener('click', () => open(panel.hidden));
  panel.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    open(false);
    line.focus();
  });
  say();
  return { line, panel, say };
}

function settingRow({ name, label, low, high, step, off }, params, owner, changed) {
  const slider = el('input');
  const box = el('input', 'exactly');
  Object.assign(slider, { type: 'range', min: Math.min(low, params[name]), max: Math.max(high, params[name]), step });
  Object.assign(box, { type: 'number', step: 'any' });
  for (const input of [slider, box]) {
    input.value = params[name];
    input.dataset.setting = name;
    input.setAttribute('aria-label', label + ' of ' + owner());
  }
  const row = el('div', 'setting', el('span', '', label), box, slider);
  function show() {
    slider.style.setProperty('--at', (slider.value - slider.min) / (slider.max - slider.min) * 100 + '%');
    row.classList.toggle('off', params[name] === off);
  }
  slider.addEventListener('input', () => { params[name] = Number(slider.value); box.value = slider.value; show(); changed(); });
  box.addEventListener('input', () => {
    if (box.value === '' || Number.isNaN(Number(box.value))) return;
    params[name] = Number(box.value);
    slider.value = box.value;
    show();
    changed();
  });
  box.addEventListener('blur', () => { box.value = params[name]; });
  show();
  return row;
}
