// The Labs tab: questions on the left, the chosen one on the right.

function startLabs(element, props, watch, trigger) {
  const find = (selector) => element.querySelector(selector);
  const list = find('#labs-list');
  const entries = new Map(); // by name: {lab, press, view}
  let given = []; // flags of the server's command line that name its model, device and dtype
  let flags = given;
  let measured = null; // the lab that runs, or was asked to
  let busy = false;

  const acts = {
    run(lab, options) {
      measured = lab;
      say('asked', 'Asked.');
      trigger('run', { lab, options });
    },
    halt: () => trigger('halt', {}),
    command: (lab, values) => labCommand(lab.name, lab.options, values, flags),
  };

  function say(state, text) {
    busy = state !== 'idle' && state !== 'error';
    find('.labs').dataset.run = busy ? 'busy' : 'idle';
    find('.status').dataset.state = state;
    find('.status .words').textContent = text;
    mark();
  }

  function mark() {
    for (const [name, { press, view }] of entries) {
      press.dataset.run = busy && name === measured ? 'busy' : '';
      view.going(busy, name === measured);
    }
  }

  function choose(name) {
    for (const [each, { press }] of entries) {
      if (each === name) press.setAttribute('aria-current', 'true');
      else press.removeAttribute('aria-current');
      press.tabIndex = each === name ? 0 : -1;
    }
    find('.chosen').replaceChildren(entries.get(name).view.element);
  }

  function fill({ labs, flags: started }) {
    flags = given = started;
    for (const lab of labs) {
      const press = el('button', '', el('b', '', lab.title), el('span', '', lab.question));
      press.type = 'button';
      press.dataset.lab = lab.name;
      press.addEventListener('click', () => choose(lab.name));
      entries.set(lab.name, { press, view: makeLab(lab, acts) });
      list.append(press);
    }
    if (labs.length) choose(labs[0].name);
  }

  list.addEventListener('keydown', (event) => {
    const presses = [...list.children];
    const at = presses.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowRight: at + 1, ArrowUp: at - 1, ArrowLeft: at - 1, Home: 0, End: presses.length - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    const next = presses[Math.max(0, Math.min(presses.length - 1, to))];
    choose(next.dataset.lab);
    next.focus();
  });

  const viewOf = (name) => entries.get(name).view;
  const { receive } = startReceiving({
    labs: (op) => { if (!entries.size) fill(op); },
    begin({ lab }) {
      measured = lab;
      viewOf(lab).begin();
    },
    progress(op) {
      viewOf(op.lab).progress(op);
      entries.get(op.lab).press.style.setProperty('--share', op.share * 100 + '%');
    },
    result: (op) => viewOf(op.lab).show(op),
    record: ({ lab, text }) => viewOf(lab).ended(text),
    refused({ option, why }) {
      say('idle', '');
      if (!measured || !viewOf(measured).refuse(option, why)) say('error', why);
    },
    status: ({ state, text }) => say(state, text),
  });

  // The model that the server began with is told by its flags, another one by its name.
  const modelName = () => document.querySelector('#model[data-state=ready] b')?.textContent ?? null;
  let first = modelName();
  followModel(() => {
    first ??= modelName();
    const others = modelName() === first ? null : modelName();
    flags = others === null ? given : [['--model', others], ...given.filter(([flag]) => flag !== '--model')];
    for (const { view } of entries.values()) view.told();
  });
  watch('value', () => receive(props.value));
  receive(props.value);
}
