// The header: which model, how far it is, the menu of models, and the switch between light and dark.

const LOOKS_EVERY_MS = 10000;

function startHeader(element, props, watch, trigger, server) {
  const chip = element.querySelector('#model');
  const news = element.querySelector('.news');
  const menu = startMenu(element, chip, trigger, server);
  let shown = ''; // the model's name

  function show(text) {
    if (!text) return;
    const { state, name, facts, share, thinking, coming } = JSON.parse(text);
    shown = name;
    chip.dataset.state = state;
    chip.replaceChildren(el('b', '', name), el('span', 'details', facts ? ' · ' + facts : ''));
    chip.title = name + (facts ? ' · ' + facts : '');
    chip.style.setProperty('--share', (coming ? coming.share : share) * 100 + '%');
    chip.dataset.coming = coming && !coming.failure ? 'yes' : '';
    document.documentElement.dataset.thinking = thinking ? 'yes' : 'no';
    news.dataset.state = coming && coming.failure ? 'failed' : '';
    news.textContent = !coming ? '' : coming.failure || coming.name + ': ' + coming.text;
    if (state === 'ready') menu.current(name);
  }

  element.querySelector('.theme').addEventListener('click', () => {
    const dark = document.body.classList.toggle('dark');
    try { localStorage.setItem('playground-theme', dark ? 'dark' : 'light'); } catch { /* a private window */ }
  });
  let chosen = null;
  try { chosen = localStorage.getItem('playground-theme'); } catch { /* a private window */ }
  if (chosen) document.body.classList.toggle('dark', chosen === 'dark');

  // Somebody else may have switched the model. Asked by a page that is looked at only, and at once when it is
  // looked at again; its address holds under a root path too.
  async function look() {
    if (document.hidden) return;
    try {
      const { model, header } = await (await fetch('health')).json();
      if (model !== null && model !== shown) show(header);
    } catch { /* the server is away: the next look will tell */ }
  }

  setInterval(look, LOOKS_EVERY_MS);
  document.addEventListener('visibilitychange', look);
  watch('value', () => show(props.value));
  show(props.value);
}

function startMenu(element, chip, trigger, server) {
  const panel = element.querySelector('.models');
  const find = (selector) => panel.querySelector(selector);
  let now = '';

  function close() {
    panel.hidden = true;
    chip.setAttribute('aria-expanded', 'false');
  }

  function choose(model) {
    close();
    chip.focus();
    trigger('choose', { model });
  }

  async function open() {
    panel.hidden = false;
    chip.setAttribute('aria-expanded', 'true');
    find('.wait').hidden = false;
    let told;
    try {
      told = await server.models();
    } catch {
      told = { offers: [], free: false, measured: false, said: 'The server does not answer.' };
    }
    find('.wait').hidden = true;
    const reasons = new Set(told.offers.map((offer) => offer.why).filter(Boolean));
    const shared = reasons.size === 1 ? [...reasons][0] : '';
    if (shared) told.offers.forEach((offer) => { offer.why = ''; });
    find('.offers').replaceChildren(...told.offers.map((offer) => offerRow({ ...offer, current: offer.name === now }, choose)));
    find('.other').hidden = !told.free;
    find('.told').textContent = told.said || (shared && 'Greyed: ' + shared[0].toLowerCase() + shared.slice(1) + ' ')
      + (told.measured ? 'Speeds are estimates: bytes of weights, at the pace seen on this machine.'
        : 'Speeds are estimated after the first run on this machine.');
    (find('.offer:not([disabled])') || chip).focus();
  }

  chip.addEventListener('click', () => (panel.hidden ? open() : close()));
  find('.other').addEventListener('submit', (event) => {
    event.preventDefault();
    const box = find('.other input');
    if (box.value.trim()) choose(box.value.trim());
  });
  element.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || panel.hidden) return;
    close();
    chip.focus();
  });
  document.addEventListener('pointerdown', (event) => {
    if (!panel.hidden && !panel.contains(event.target) && !chip.contains(event.target)) close();
  });
  return { current: (name) => { now = name; } };
}

function offerRow(offer, choose) {
  const name = el('b', '', offer.name.split('/').pop());
  const speed = el('span', 'speed', offer.current ? 'running' : offer.speed);
  const lines = [offer.words, offer.size].filter(Boolean).map((text) => el('span', 'size', text));
  const row = el('button', 'offer', name, speed, ...lines);
  if (offer.why) row.append(el('span', 'why', offer.why));
  row.type = 'button';
  row.disabled = offer.current || !offer.usable;
  if (offer.current) row.setAttribute('aria-current', 'true');
  row.title = offer.name;
  row.addEventListener('click', () => choose(offer.name));
  return row;
}

// Hears when another model is ready in the header.
function followModel(changed) {
  const chip = document.querySelector('#model');
  if (!chip) return;
  let name = chip.dataset.state === 'ready' ? chip.title : null;
  new MutationObserver(() => {
    if (chip.dataset.state !== 'ready' || chip.title === name) return;
    name = chip.title;
    changed();
  }).observe(chip, { attributes: true, attributeFilter: ['data-state', 'title'] });
}
