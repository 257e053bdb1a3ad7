// What if: the selected step under other settings. The sliders; what they change is asked for by the inspector.

const WHATIF = [
  { name: 'temperature', label: 'temperature', low: 0, high: 2, step: 0.01, off: 1 },
  { name: 'top_p', label: 'top-p', low: 0.01, high: 1, step: 0.01, off: 1 },
  { name: 'top_k', label: 'top-k', low: 0, high: 200, step: 1, off: 0 },
  { name: 'min_p', label: 'min-p', low: 0, high: 1, step: 0.01, off: 0 },
];

// `begin`: settings to start from, where they differ from the run's. `changed(changes)` hears those that differ now;
// none means back to the run's.
function makeWhatIf(params, begin, changed, prefix) {
  const element = card('whatif', heading('What if'));
  const said = el('p', 'said');
  if (!params) {
    said.textContent = 'Not available here: this run came without its settings.';
    element.append(said);
    return { element, changes: {}, tell() {} };
  }
  const differs = ({ name }) => name in begin && begin[name] !== Number(params[name]);
  const changes = Object.fromEntries(WHATIF.filter(differs).map(({ name }) => [name, begin[name]]));
  const sliders = WHATIF.map((each) => {
    const input = el('input');
    const shown = el('output');
    Object.assign(input, { type: 'range', min: each.low, max: Math.max(each.high, params[each.name]), step: each.step });
    const show = () => {
      const value = Number(input.value);
      shown.textContent = value === each.off && each.name !== 'temperature' ? 'off' : String(value);
      input.style.setProperty('--at', (value - input.min) / (input.max - input.min) * 100 + '%');
      input.parentElement.classList.toggle('changed', each.name in changes);
    };
    const label = el('label', '', el('span', '', each.label), shown, input);
    label.id = prefix + 'whatif-' + each.name.replace('_', '-');
    const reset = () => { input.value = changes[each.name] ?? params[each.name]; show(); };
    input.addEventListener('input', () => {
      const value = Number(input.value);
      if (value === Number(params[each.name])) delete changes[each.name];
      else changes[each.name] = value;
      show();
      changed({ ...changes });
    });
    reset();
    return { label, reset };
  });
  const back = el('button', 'quiet', 'Back to the run’s settings');
  back.type = 'button';
  back.addEventListener('click', () => {
    for (const name of Object.keys(changes)) delete changes[name];
    sliders.forEach(({ reset }) => reset());
    changed({});
  });
  element.append(el('div', 'sliders', ...sliders.map(({ label }) => label)), said);
  return {
    element,
    changes: { ...changes },
    // `parts` as of a sentence; `active` while other settings than the run's are on show.
    tell(active, parts) {
      element.classList.toggle('active', active);
      const hadFocus = document.activeElement === back;
      element.firstChild.lastChild.replaceChildren(active ? back : '');
      if (hadFocus && !active) element.querySelector('input').focus();
      said.replaceChildren(...sentence(parts));
    },
  };
}
