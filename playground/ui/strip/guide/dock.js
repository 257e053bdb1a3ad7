// The task of a page of the guide while it is under way: the control it speaks of is ringed, and a small dock at the
// bottom of the page leads back. It is looked at a few times a second whether it is done.

const GUIDE_LOOKS_EVERY_MS = 200;
const GUIDE_CONTROLS = 'button:not([disabled]), textarea, select, input:not([type="hidden"]), canvas[tabindex], [tabindex="0"], [role="option"]';

function tabInFront() {
  const panels = [...document.querySelectorAll('#tabs > .tabitem')];
  return (panels.find((panel) => panel.offsetParent !== null)?.id || '').replace('tab-', '');
}

// On a narrow screen the last tabs stand in a menu, where they have no ids.
function openTabNamed(name) {
  if (tabInFront() === name) return;
  const listed = [...document.querySelectorAll('#tabs > .tab-wrapper .overflow-dropdown button')];
  const tab = document.querySelector('#tab-' + name + '-button') || listed.find((each) => each.textContent.trim().toLowerCase() === name);
  tab?.click();
}

// `now()`: {run, busy}, as the Playground has them; `finished(page)` hears that a task was done; `returned()` that the
// reader asked for the guide again.
function startGuideTasks({ now, guide, finished, returned }) {
  const words = el('p', 'dock-words');
  const said = el('p', 'dock-said');
  said.setAttribute('role', 'status');
  const back = button('strong', 'Back to the guide');
  back.id = 'guide-back';
  const dock = el('aside', 'guide-dock', el('div', '', words, said), back);
  dock.id = 'guide-dock';
  dock.hidden = true;
  dock.setAttribute('aria-label', 'task of the guide');
  document.body.append(dock);
  let page = null; // whose task is under way
  let begun; // what the task noted when it began
  let ring = false; // the control is to be ringed
  let lit = null;
  let aimed = null; // what was ringed last, as a selector
  let timer = null;

  const state = () => ({ ...now(), begun, tab: tabInFront(), find: (selector) => document.querySelector(selector) });

  function unlight() {
    if (lit) lit.classList.remove('lit');
    lit = null;
  }

  // Of the task's controls, the first that is to be seen. Another tab's board may come, or be drawn anew, while the
  // reader is there; only a step to another control scrolls.
  function light() {
    const wanted = ring ? [].concat(typeof page.task.light === 'function' ? page.task.light(state()) : page.task.light) : [];
    const selector = wanted.find((each) => document.querySelector(each)?.offsetParent);
    const control = selector ? document.querySelector(selector) : null;
    if (control === lit && (!lit || lit.classList.contains('lit'))) return;
    unlight();
    if (!control) return;
    lit = control;
    lit.classList.add('lit');
    if (selector === aimed) return;
    const first = aimed === null;
    aimed = selector;
    lit.scrollIntoView({ block: first ? 'center' : 'nearest' });
    if (!first) return;
    const field = lit.matches(GUIDE_CONTROLS) ? lit : lit.querySelector(GUIDE_CONTROLS);
    if (field) field.focus({ preventScroll: true });
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    rest();
    page = null;
  }

  function look() {
    light();
    if (!page.task.done(state())) return;
    clearInterval(timer);
    timer = null;
    ring = false;
    unlight();
    dock.dataset.done = 'yes';
    said.textContent = 'Done.';
    finished(page);
  }

  // The guide is in front again; a run that still goes on may yet do the task.
  function rest() {
    ring = false;
    unlight();
    dock.hidden = true;
  }

  function goBack() {
    openTabNamed('guide');
    rest();
    returned();
  }

  back.addEventListener('click', goBack);
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && !dock.hidden && !event.defaultPrevented) goBack();
  });

  return {
    rest, stop,
    begin(of) {
      stop();
      page = of;
      const { task } = page;
      begun = task.begin ? task.begin(state()) : undefined;
      words.textContent = task.words;
      said.textContent = '';
      delete dock.dataset.done;
      dock.hidden = task.tab === 'guide';
      ring = true;
      aimed = null;
      openTabNamed(task.tab);
      if (task.prefill) fillFields(task.prefill);
      if (task.open) task.open(guide);
      timer = setInterval(look, GUIDE_LOOKS_EVERY_MS);
    },
  };
}

// Fields of the Playground's form by the id they have there: {prompt: '…', temperature: 0, mode: 'chat'}.
function fillFields(fields) {
  for (const [id, value] of Object.entries(fields)) {
    if (id === 'mode') tick(document.querySelector('#mode input[value="' + value + '"]'), true);
    else typeInto(typeof value === 'number' ? numberField(id) : textField(id), value);
  }
}
