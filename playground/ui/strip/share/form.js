// The forms of both tabs, read for a link and filled from one. Filling runs nothing.

const FORM_TEXTS = { system: 'system', prompt: 'prompt', seed: 'seed', stops: 'stop-strings', watched: 'watched', banned: 'banned', biases: 'biases' };

const textField = (id) => document.querySelector('#' + id + ' :is(textarea, input[type="text"])');
const numberField = (name) => document.querySelector('#' + name.replaceAll('_', '-') + ' input[type="number"]');
const tickField = (id) => document.querySelector('#' + id + ' input[type="checkbox"]');

// The model that runs, if a link may name it: one from a folder has no name that others could use.
function modelOfPage() {
  const name = document.querySelector('#model[data-state="ready"] b')?.textContent || '';
  try {
    return readSetup({ v: 1, model: name }).model;
  } catch {
    return '';
  }
}

// Throws an error whose message is a sentence.
function readForm() {
  const texts = Object.entries(FORM_TEXTS).map(([name, id]) => [name, textField(id)?.value || '']);
  const numbers = FORM_NUMBERS.map((name) => [name, numberField(name)?.value ? Number(numberField(name).value) : NaN]);
  const history = window.tokenPlayground.history();
  return setupOfForm({
    ...Object.fromEntries(texts), numbers: Object.fromEntries(numbers),
    mode: document.querySelector('#mode input:checked')?.value || 'chat', history: history ? JSON.parse(history) : [],
    thinking: document.documentElement.dataset.thinking === 'yes' ? tickField('thinking')?.checked ?? null : null,
    ignore_eos: tickField('ignore-eos')?.checked || false,
  }, modelOfPage());
}

// As if typed: what Gradio keeps of a field follows its events.
function typeInto(field, value) {
  if (!field || field.value === String(value)) return;
  field.value = value;
  for (const kind of ['input', 'change']) field.dispatchEvent(new Event(kind, { bubbles: true }));
  field.dispatchEvent(new Event('blur'));
}

function tick(field, on) {
  if (field && field.checked !== on) field.click();
}

// Returns sentences about what did not fit.
function fillForm(setup) {
  const { form, left } = formOfSetup(setup);
  tick(document.querySelector('#mode input[value="' + form.mode + '"]'), true);
  for (const [name, id] of Object.entries(FORM_TEXTS)) typeInto(textField(id), form[name]);
  for (const name of FORM_NUMBERS) {
    const field = numberField(name);
    const { min, max } = field || {};
    if (!field) continue;
    if ((min && form.numbers[name] < Number(min)) || (max && form.numbers[name] > Number(max))) {
      left.push('This page’s ' + name.replaceAll('_', ' ') + ' goes from ' + min + ' to ' + max + ': left as it was.');
    } else typeInto(field, form.numbers[name]);
  }
  tick(tickField('ignore-eos'), form.ignore_eos);
  if (form.thinking !== null) tick(tickField('thinking'), form.thinking);
  window.tokenPlayground.resume(form.history);
  return left;
}

// The form's fields come some time after this script.
async function whenFilledIn() {
  for (let tries = 0; tries < 100 && !(textField('prompt') && numberField('temperature')); tries += 1) {
    await new Promise((resolve) => { setTimeout(resolve, 100); });
  }
}

function openTab(what) {
  const tab = document.querySelector('#tab-' + (what === 'comparison' ? 'compare' : 'playground') + '-button');
  if (tab && tab.getAttribute('aria-selected') !== 'true') tab.click();
}

// What the visitor looks at: `run` or `comparison`.
function inFront() {
  return document.querySelector('#tab-compare-button')?.getAttribute('aria-selected') === 'true' ? 'comparison' : 'run';
}

// Whether that stands on another tab: those beside the two have nothing of their own to share.
function isElsewhere() {
  const tab = document.querySelector('button[role="tab"][aria-selected="true"]');
  return Boolean(tab) && !['tab-playground-button', 'tab-compare-button'].includes(tab.id);
}

const readSetupOfPage = () => (inFront() === 'comparison' ? lent('comparison').setup(modelOfPage()) : readForm());

// The page learns which model runs some time after it came; where that is still loading nobody waits for it.
async function runningModel() {
  for (let tries = 0; tries < 30 && !document.querySelector('#model[data-state="ready"]'); tries += 1) {
    await new Promise((resolve) => { setTimeout(resolve, 100); });
  }
  return modelOfPage();
}

// Fills the form that the setup is for. Returns sentences about what did not fit.
async function fillPage(setup) {
  await whenFilledIn();
  const what = setup.kind === 'run' ? 'run' : 'comparison';
  openTab(what);
  const left = what === 'run' ? fillForm(setup) : (await borrow('comparison')).fill(setup);
  const running = setup.model && await runningModel();
  if (setup.model !== running) {
    left.push('They were made with ' + setup.model + (running ? '; ' + running + ' runs here now.' : '.'));
  }
  return left;
}
