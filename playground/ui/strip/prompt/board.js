// The Prompt tab: messages on the left, what the model sees on the right, and what templates and tokenizers do.

function startPromptBoard(element, props, watch, trigger, server) {
  const find = (selector) => element.querySelector(selector);
  const choice = find('#template');
  const editor = find('#jinja');
  let source = ''; // of the template that was rendered last, for who wants to edit it
  let seen = false;

  for (const [value, label] of TEMPLATES) choice.append(Object.assign(el('option', '', label), { value }));
  const templateOf = (name) => (name === 'edited' ? { template: name, jinja: editor.value } : { template: name });
  const thinking = () => (document.documentElement.dataset.thinking === 'yes' ? { thinking: find('.thinking').checked } : {});

  const messages = startMessages(find('.messages'), render);
  const rendered = startRendered(find('#prompt-render'), find('#prompt-tokens'), find('.pointed'));
  const tokenizer = startTokenizer(find('.tokenizer'), server);
  const words = startWords(find('.wordly'), server);
  const both = startBoth(find('.both'), {
    say,
    first: templateOf,
    ask: (request) => trigger('run', { messages: messagesToSend(messages.read()), ...request, ...thinking() }),
    halt: () => trigger('halt', {}),
  });

  // The rendering

  const ask = startAsking(150, (request) => server.render(request), (told) => {
    find('.saying .fault').textContent = told.error || '';
    find('.seeing').classList.toggle('stale', Boolean(told.error));
    if (told.error) return;
    rendered.show(told.prompt);
    source = told.source || source;
    const { text, tokens, notes } = told.prompt;
    find('.size').textContent = plural([...text].length, 'character') + ', ' + plural(tokens.length, 'token');
    find('.wrote').replaceChildren(...wroteInWords(told));
    find('.seeing .notes').replaceChildren(...notes.map((note) => el('li', '', note)));
    showExplained(find('.explained'), told);
    showAgainst(find('.against'), told, choice.value);
    element.dataset.rendered = choice.value;
  });

  function wroteInWords({ hidden, added }) {
    const parts = ['The template wrote ', el('b', '', plural(added, 'character')), ' of this by itself.'];
    if (hidden) parts.push(' Among them a system message that nobody typed: ', el('q', '', hidden.trim()));
    return parts;
  }

  function render() {
    const name = choice.value;
    find('.about').textContent = TEMPLATES.find(([value]) => value === name)[2];
    find('.jinja').hidden = name !== 'edited';
    ask(() => ({ messages: messagesToSend(messages.read()), ...templateOf(name), ...thinking() }));
  }

  choice.addEventListener('change', () => {
    if (choice.value === 'edited' && !editor.value) editor.value = source;
    render();
  });
  editor.addEventListener('input', render);
  find('.thinking').addEventListener('change', render);
  find('.more').addEventListener('click', () => messages.more());
  find('.take').addEventListener('click', take);
  find('.copy').addEventListener('click', async () => {
    const button = find('.copy');
    try {
      await navigator.clipboard.writeText(rendered.text());
      button.textContent = 'Copied';
    } catch {
      const range = document.createRange();
      range.selectNodeContents(find('#prompt-render'));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = 'Selected';
    }
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  });

  function take() {
    const history = window.tokenPlayground?.history() || '';
    messages.set(messagesOfForm(history ? JSON.parse(history) : [], textField('system')?.value || '', textField('prompt')?.value || ''));
  }

  // Running both

  function say(state, text) {
    const going = state !== 'idle' && state !== 'error';
    find('.prompting').dataset.run = going ? 'busy' : 'idle';
    find('.prompting > .status').dataset.state = state;
    find('.prompting > .status .words').textContent = state === 'writing' ? '' : text;
    find('#run-both').disabled = going;
    if (state === 'error') find('.prompting > .status').scrollIntoView({ block: 'nearest' });
    both.busy(going);
  }

  const { receive } = startReceiving({ ...both.operations, status: ({ state, text }) => say(state, text) });

  // Asked once the tab is looked at. The model may come later than the page: then it is asked again.

  function open() {
    if (seen) return messages.refit();
    seen = true;
    find('.think').hidden = document.documentElement.dataset.thinking !== 'yes';
    take();
    tokenizer.look();
    return words.look();
  }
  function whenReady() {
    const ready = document.querySelector('#model[data-state="ready"]');
    if (ready && element.offsetParent !== null) open();
  }
  new IntersectionObserver(whenReady).observe(element);
  followModel(() => {
    if (!seen) return whenReady();
    editor.value = choice.value === 'edited' ? editor.value : '';
    render();
    tokenizer.look();
    return words.look();
  });
  watch('value', () => receive(props.value));
  receive(props.value);
}
