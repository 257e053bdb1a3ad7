// Forms that change a run in place: its answer or prompt as text, and text to go on with.

// `waiting`: the name of a second button, which submits with true: the run is to wait then.
function textForm(className, action, hint, waiting) {
  const box = el('textarea');
  const told = el('p', 'told');
  const go = el('button', 'quiet strong', action);
  const wait = waiting ? el('button', 'quiet wait', waiting) : null;
  if (wait) {
    wait.type = 'button';
    wait.title = 'The run pauses there: look, step, or go on.';
    wait.addEventListener('click', () => handle.submit(true));
  }
  const cancel = el('button', 'quiet', 'Cancel');
  cancel.type = 'button';
  const form = el('form', 'rewrite ' + className, box, el('div', 'row', go, wait, cancel, told));
  box.setAttribute('aria-label', hint);
  box.spellcheck = false;
  form.hidden = true;
  const grow = () => {
    box.style.height = 'auto';
    box.style.height = Math.min(box.scrollHeight + 2, 420) + 'px';
  };
  const handle = { form, box, told, go, wait, submit: () => {}, close: () => { form.hidden = true; } };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    handle.submit(false);
  });
  cancel.addEventListener('click', () => handle.close());
  box.addEventListener('input', grow);
  box.addEventListener('keydown', (event) => {
    event.stopPropagation();
    if (event.key === 'Escape') handle.close();
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) handle.submit(false);
  });
  handle.open = (text) => {
    form.hidden = false;
    box.value = text;
    grow();
    box.focus({ preventScroll: true });
  };
  return handle;
}

// A form over `tokens`: says at each key which of them stay. `send` gets {kept, rest} and whether to wait.
function tokenForm(form, shown, tokens, send) {
  const say = () => {
    const kept = keptOf(tokens, form.box.value);
    form.told.textContent = keptInWords(kept, tokens.length);
    form.go.disabled = !kept.changed;
    if (form.wait) form.wait.disabled = !kept.changed;
  };
  form.close = () => {
    form.form.hidden = true;
    shown.hidden = false;
    form.box.removeEventListener('input', say);
  };
  form.submit = (wait) => {
    const kept = keptOf(tokens, form.box.value);
    if (!kept.changed) return;
    form.close();
    send(kept, wait);
  };
  form.box.addEventListener('input', say);
  shown.hidden = true;
  form.open(textOfTokens(tokens).text);
  say();
}

// The answer's tokens that are its text: without the token that ended it.
function textSteps(lane) {
  const { steps } = lane;
  const ended = lane.end && lane.end.reason === 'end_token';
  return ended ? steps.slice(0, -1) : steps;
}

// The part of a prompt that can be edited: all of raw text by its ids, of a chat the message last sent.
function editablePrompt(run) {
  const kindOf = (token) => run.segments[token.segment][0];
  const own = run.prompt.filter((token) => kindOf(token) === 'raw');
  if (own.length) return { raw: true, lead: run.prompt.slice(0, run.prompt.indexOf(own[0])), own };
  const message = run.prompt.filter((token) => kindOf(token) === 'user');
  const last = message.length ? message[message.length - 1].segment : -1;
  return { raw: false, lead: [], own: message.filter((token) => token.segment === last) };
}

function putIntoField(selector, text) {
  const field = document.querySelector(selector);
  field.value = text;
  field.dispatchEvent(new Event('input', { bubbles: true }));
}

// `board` as in hand.js; `order` sends what is asked.
function startEdits(board, order) {
  const lanes = board.find('.lanes');
  const strip = board.find('.prompt-strip');
  const answer = textForm('answer', 'Run from the change', 'the answer as text', 'Change it and wait');
  const more = textForm('more', 'Write it and go on', 'text to go on with', 'Write it and wait');
  const prompt = textForm('prompt', 'Run', 'the prompt as text');
  lanes.after(answer.form, more.form);
  strip.after(prompt.form);
  const forms = [answer, more, prompt];

  const close = () => forms.forEach((form) => { if (!form.form.hidden) form.close(); });

  function editAnswer() {
    const run = board.run();
    const lane = run.lanes[0];
    const steps = textSteps(lane);
    close();
    tokenForm(answer, lanes, steps, ({ kept, rest }, wait) => {
      order('edit', lane, kept, steps.slice(0, kept).map((step) => step.id), { text: rest, wait });
    });
  }

  function writeOn() {
    const lane = board.run().lanes[0];
    const ids = textSteps(lane).map((step) => step.id);
    close();
    more.submit = (wait) => {
      if (!more.box.value) return;
      more.close();
      order('force', lane, ids.length, ids, { text: more.box.value, wait });
    };
    more.open('');
    more.told.textContent = 'Goes behind the ' + count(ids.length) + ' tokens so far, spaces as typed. The model’s tokenizer encodes it, every token is forced.';
  }

  function editPrompt() {
    const run = board.run();
    const { raw, lead, own } = editablePrompt(run);
    close();
    if (raw) {
      tokenForm(prompt, strip, own, ({ kept, rest }) => {
        const changed = prompt.box.value;
        const ids = [...lead, ...own.slice(0, kept)].map((token) => token.id);
        const parts = [...partsOf(run.segments, lead), ['raw', 0, kept]];
        order('prompt', run.lanes[0], 0, [], { prompt_ids: ids, parts, text: rest });
        putIntoField('#prompt textarea', changed);
      });
      return;
    }
    const text = textOfTokens(own).text;
    prompt.close = () => { prompt.form.hidden = true; };
    prompt.submit = () => {
      if (!prompt.box.value) return;
      prompt.close();
      board.rewind(run);
      putIntoField('#prompt textarea', prompt.box.value);
      setTimeout(() => order('prompt', run.lanes[0], 0, [], { prompt_ids: null }));
    };
    prompt.open(text);
    prompt.go.disabled = false;
    prompt.told.textContent = 'The template wraps your message, so the whole prompt is encoded anew: a new run, and this one stays in the tree below the answer.';
  }

  return { editAnswer, editPrompt, writeOn, close };
}
