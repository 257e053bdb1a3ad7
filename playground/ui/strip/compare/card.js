// The card of a lane: its name, its settings, how it stands to the reference, its chips.

// `number` is the lane's place in the run and the colour it is known by. `on`: {changed, choose, seeded, duplicate,
// remove, refer}, each told the card. `fixed`: lanes that the server made from one setting; they have no menu.
function makeLaneCard({ name, params, number }, on, fixed = false) {
  const title = fixed ? el('b', 'title', name) : el('input', 'title');
  const badge = el('button', 'badge');
  badge.type = 'button';
  const body = el('div', 'body');
  const foot = el('p', 'foot');
  const head = el('div', 'lane-head', el('i', 'hue'), title, badge);
  const element = el('div', 'lane card', head, body, foot);
  const self = { element, params, name, number: null, lane: null, fixed };
  const editor = fixed ? null : makeSettingsEditor(params, () => self.name, {
    changed: () => { tellChanged(); on.changed(self); },
    seeded: on.seeded,
  });

  // What the form holds and what the run was made with are two things.
  function tellChanged() {
    const ran = self.lane && self.lane.params;
    element.classList.toggle('changed', Boolean(ran && !fixed && !alike(params, ran)));
  }

  // Few lanes are told apart by colour; many are not.
  function hue() {
    return fixed ? 'var(--tp-raw)' : 'var(--tp-lane-' + (self.number % MOST_LANES) + ')';
  }

  function renumber(place) {
    self.number = element.dataset.lane = place;
    element.style.setProperty('--hue', hue());
  }

  function rename(text) {
    self.name = text;
    element.setAttribute('aria-label', 'lane ' + text);
    editor?.say();
  }

  // The card's lane of a run; null empties it.
  function show(lane) {
    self.lane = lane;
    if (lane) {
      lane.element = element;
      lane.list.setAttribute('aria-label', 'tokens of ' + self.name);
      body.replaceChildren(lane.list);
    } else {
      delete element.dataset.finished;
      body.replaceChildren(el('p', 'faint', 'Not run yet.'));
    }
    tellChanged();
    tell();
    say('');
  }

  // `apart`: it has left the reference; `choice`: the parting can be looked at.
  function say(words, { apart = false, choice = false } = {}) {
    badge.textContent = words;
    badge.hidden = !words;
    badge.disabled = !choice;
    badge.classList.toggle('apart', apart);
  }

  function tell() {
    const { lane } = self;
    const seed = lane && lane.params && lane.params.seed != null ? 'seed ' + lane.params.seed : '';
    const ended = !lane ? '' : lane.end ? (lane.end.reason === 'stopped' ? 'stopped by you' : 'ended by ' + (REASONS[lane.end.reason] || lane.end.reason)) : '';
    foot.replaceChildren(...(lane ? [[count(lane.steps.length) + ' tokens', ended, seed].filter(Boolean).join(' · ')] : []));
    foot.classList.toggle('failed', Boolean(lane && lane.end && ['error', 'nan_logits', 'no_token_left'].includes(lane.end.reason)));
    if (foot.classList.contains('failed') && lane.end.message) foot.append(el('span', '', ' ' + lane.end.message));
  }

  if (!fixed) {
    title.value = name;
    title.maxLength = 60;
    title.setAttribute('aria-label', 'name of the lane');
    title.addEventListener('input', () => { rename(title.value || 'lane'); on.changed(self); });
    head.append(makeLaneMenu(self, on));
    head.after(editor.line, editor.panel);
  }
  element.setAttribute('role', 'group');
  badge.addEventListener('click', () => on.choose(self));
  renumber(number);
  rename(name);
  show(null);
  return Object.assign(self, { hue, renumber, show, say, tell, settings: () => editor?.say(), focus: () => title.focus() });
}

function makeLaneMenu(card, on) {
  const summary = el('summary', 'quiet', '⋯');
  summary.setAttribute('aria-label', 'what can be done with this lane');
  const items = [['Duplicate', on.duplicate], ['Make it the reference', on.refer], ['Remove', on.remove]];
  const list = el('div', 'choices', ...items.map(([label, act]) => {
    const item = button('item', label);
    item.addEventListener('click', () => { menu.open = false; act(card); });
    return item;
  }));
  const menu = el('details', 'lane-menu', summary, list);
  menu.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !menu.open) return;
    event.stopPropagation();
    menu.open = false;
    summary.focus();
  });
  menu.addEventListener('focusout', (event) => { if (event.relatedTarget && !menu.contains(event.relatedTarget)) menu.open = false; });
  return menu;
}
