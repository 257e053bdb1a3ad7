// The panel below the Share button: two links, rows of files, and a place to open one.

const SHARE_WORDS = {
  run: {
    title: 'Link to this run', none: 'No run yet: press Generate, then save it here.', going: 'The run is still going: wait for its end, or stop it.',
    files: [['This run', [['Trace, JSON', 'json'], ['Steps, CSV', 'csv'], ['Web page', 'page']]]],
  },
  comparison: {
    title: 'Link to this comparison', none: 'No comparison yet: press Run all, then save it here.', going: 'The lanes are still being written: wait for their end, or stop them.',
    files: [['Comparison', [['All lanes, JSON', 'json'], ['Table, CSV', 'csv']]]],
  },
};

// A link in a field: always selected, since a clipboard may be missing.
function linkField(place) {
  const field = place.querySelector('input');
  const copy = place.querySelector('.copy');
  const select = () => { field.focus({ preventScroll: true }); field.select(); };
  field.addEventListener('focus', () => field.select());
  copy.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(field.value);
      copy.textContent = 'Copied';
    } catch {
      copy.textContent = 'Press Ctrl+C';
    }
    select();
    setTimeout(() => { copy.textContent = 'Copy'; }, 2500);
  });
  return {
    show(link) {
      place.hidden = !link;
      field.value = link || '';
    },
    select,
  };
}

function offerFile(name, blob) {
  const link = el('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// `on`: {page() (how it is served), setup() (of the form in front), board(), elsewhere() (whether another tab shows), save(), file(format), open(file)}.
function startPanel(panel, press, on) {
  const find = (selector) => panel.querySelector(selector);
  const settings = linkField(find('.settings-link .link'));
  const replay = linkField(find('.run-link .link'));
  const told = find('.told');
  const saved = new WeakMap(); // links of what was saved, by what the board showed then
  let waiting = null; // what is being saved

  function tell(words, failed = false) {
    told.textContent = words;
    told.dataset.state = failed ? 'failed' : '';
  }

  async function showSettings() {
    const say = find('.settings-link .explain');
    let link = null;
    try {
      link = await settingsLink(on.setup());
      say.textContent = link ? 'Opens this page with your prompt and settings filled in. It runs nothing, and no server sees what is in it.'
        : 'This is too much for a link of at most ' + count(LONGEST_LINK) + ' characters: save the settings as a file below.';
    } catch (error) {
      say.textContent = error.message;
    }
    settings.show(link && linkBase(on.page().address, location.href) + link);
    return Boolean(link);
  }

  function showReplay() {
    const { what, board, shown } = on.front();
    const words = SHARE_WORDS[what];
    const { days } = on.page();
    const known = shown && saved.get(shown.key);
    const why = !shown ? words.none : board.busy() ? words.going : '';
    const kept = days === 1 ? 'one day' : count(days || 0) + ' days';
    find('.run-link h3').textContent = words.title;
    find('.run-link .explain').textContent = why || (!days ? 'This server keeps no runs: save it as a file.'
      : known ? 'Saved. Whoever has the link can open it, for ' + kept + '.'
        : 'Saves it on this server for ' + kept + '. Whoever has the link can open it, at the selected token, without running a model.');
    find('.save').hidden = Boolean(known || !days);
    find('.save').disabled = Boolean(why || waiting);
    replay.show(known && linkBase(on.page().address, location.href) + replayLink(known, shown.place));
  }

  function rowOf(label, presses) {
    return el('div', 'file-row', el('span', '', label), el('div', 'presses', ...presses.map(([name, act, why]) => {
      const made = button('', name);
      made.disabled = Boolean(why);
      made.title = why || '';
      made.addEventListener('click', act);
      return made;
    })));
  }

  // Work that may take a while or fail, in words.
  const tried = (name, work) => async () => {
    tell('Making ' + name + ' …');
    try {
      offerFile(name, await work());
      tell(name + ' is in your downloads.');
    } catch (error) {
      tell(error.message, true);
    }
  };

  function showFiles() {
    const { what, board, shown } = on.front();
    const words = SHARE_WORDS[what];
    const none = shown ? '' : words.none;
    const unsaved = none || (board.busy() ? words.going : '');
    const rows = words.files.map(([label, formats]) => rowOf(label, formats.map(([name, format]) => [name, () => {
      tell('Making the file …');
      on.file(format);
    }, unsaved])));
    const pictures = [['Strip, PNG', tried(what + '-strip.png', () => stripPicture(shown.picture)), none]];
    for (const { name, label, figure } of shown ? shown.figures : []) {
      pictures.push([label + ', PNG', tried(name + '.png', () => figurePicture(figure())), none]);
      pictures.push([label + ', web page', tried(name + '.html', () => figurePage(label, figure())), none]);
    }
    rows.push(rowOf('Pictures', pictures));
    rows.push(rowOf('Settings', [['Settings, JSON', tried('settings.json', async () => {
      return new Blob([JSON.stringify(plainSetup(on.setup()))], { type: 'application/json' });
    })]]));
    find('.rows').replaceChildren(...rows);
  }

  async function open() {
    panel.hidden = false;
    press.setAttribute('aria-expanded', 'true');
    tell('');
    find('.whose').hidden = !on.elsewhere();
    showReplay();
    showFiles();
    if (await showSettings()) settings.select();
    else panel.focus({ preventScroll: true });
  }

  function close(back) {
    panel.hidden = true;
    press.setAttribute('aria-expanded', 'false');
    if (back) press.focus();
  }

  press.addEventListener('click', () => (panel.hidden ? open() : close(true)));
  find('.close').addEventListener('click', () => close(true));
  document.addEventListener('keydown', (event) => { if (event.key === 'Escape' && !panel.hidden) close(true); });
  document.addEventListener('pointerdown', (event) => {
    if (!panel.hidden && !panel.contains(event.target) && !press.contains(event.target)) close(false);
  });
  panel.addEventListener('focusout', ({ relatedTarget: next }) => {
    if (next && !panel.contains(next) && next !== press) close(false);
  });
  find('.save').addEventListener('click', () => {
    waiting = on.front().shown;
    find('.save').disabled = true;
    tell('Saving …');
    on.save();
  });
  startDrop(find('.drop'), (file) => {
    tell('Reading the file …');
    on.open(file);
  });

  return {
    close,
    saved({ id }) {
      if (waiting) saved.set(waiting.key, id);
      waiting = null;
      tell('');
      showReplay();
      replay.select();
    },
    refused(why) {
      waiting = null;
      tell(why, true);
      showReplay();
    },
    // Nothing was heard of what was asked for: it may come yet, or be asked for again.
    silent(words) {
      tell(words, true);
      find('.save').disabled = false;
    },
    tell,
    isOpen: () => !panel.hidden,
  };
}

function startDrop(place, open) {
  const input = place.querySelector('input');
  input.addEventListener('change', () => {
    if (input.files[0]) open(input.files[0]);
    input.value = '';
  });
  place.addEventListener('dragover', (event) => {
    event.preventDefault();
    place.classList.add('dropping');
  });
  place.addEventListener('dragleave', () => place.classList.remove('dropping'));
  place.addEventListener('drop', (event) => {
    event.preventDefault();
    place.classList.remove('dropping');
    if (event.dataTransfer.files[0]) open(event.dataTransfer.files[0]);
  });
}
