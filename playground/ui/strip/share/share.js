// Links, saved runs and files: what the visitor asks for, what the server answers, and where it goes.

// It sends save, file, open and replay (ui/share.py) and is told, in operations as a board is: `page` how this page
// is served, `show` what a board is to show, `file` a download, `saved` an id, `opened` what is on the screen now,
// `refused` a sentence.
function startShare(element, props, watch, trigger) {
  const arrived = element.querySelector('.arrived');
  const press = document.querySelector('#share');
  if (!press) { // the header may come after this
    requestAnimationFrame(() => startShare(element, props, watch, trigger));
    return;
  }
  let page = { address: '', days: null };
  let aim = null; // the token that a link leads to
  let shows = Promise.resolve(); // what is to be shown is shown in turn: a board may have to come first

  const silence = startSilence((words) => (panel.isOpen() ? panel.silent(words) : say(words, true)));
  const order = (event, asked) => {
    silence.asked();
    trigger(event, asked);
  };

  const panel = startPanel(element.querySelector('.share'), press, {
    page: () => page,
    setup: readSetupOfPage,
    elsewhere: isElsewhere,
    front() {
      const what = inFront();
      const board = lent(what);
      return { what, board, shown: board && (what === 'run' ? shownRun(board) : shownComparison(board)) };
    },
    save: () => ask('save', {}),
    file: (format) => ask('file', { format }),
    async open(file) {
      aim = null;
      try {
        order('open', { data: await packedFile(file) });
      } catch (error) {
        panel.refused(error.message);
      }
    },
  });

  function ask(event, more) {
    const what = inFront();
    const shown = what === 'run' ? shownRun(lent(what)) : shownComparison(lent(what));
    order(event, { ...shown.request, ...more });
  }

  // A line below the header, for what came with the address.
  function say(words, failed = false) {
    arrived.hidden = false;
    arrived.dataset.state = failed ? 'failed' : '';
    arrived.querySelector('span').textContent = words;
  }

  async function arrive() {
    const link = location.hash;
    try {
      if (link.startsWith('#s=')) {
        const left = await fillPage(await settingsIn(link));
        say(['Settings from a link. Nothing has run.', ...left].join(' '));
      } else if (link.startsWith('#r=')) {
        const { id, place } = replayIn(link);
        aim = place;
        order('replay', { id });
      }
    } catch (error) {
      say(error.message, true);
    }
  }

  async function show({ what, ops }, { run, n }) {
    openTab(what);
    const board = await borrow(what);
    board.receive(JSON.stringify({ run, n, ops }));
    arrived.hidden = true;
    if (aim) board.choose(aim);
    aim = null;
  }

  async function opened({ what, setup }) {
    const left = setup ? await fillPage(readSetup(setup)) : [];
    if (what === 'settings') say(['Settings from a file. Nothing has run.', ...left].join(' '));
    panel.close(false);
  }

  const later = (work) => (op, message) => {
    shows = shows.then(() => work(op, message)).catch(() => refused('This cannot be shown here: the page may be of another version. Please load it anew.'));
  };
  const refused = (why) => (panel.isOpen() ? panel.refused(why) : say(why, true));
  const { receive } = startReceiving({
    page: (op) => { page = op; },
    show: later(show),
    opened: later(opened),
    file: (op) => saveFile(op).then(() => panel.tell(op.name + ' is in your downloads.'), () => panel.refused('The browser could not save the file.')),
    again: () => panel.tell('The server no longer has this run, and makes it again: its times will be new …'),
    saved: panel.saved,
    refused: ({ why }) => refused(why),
  }, silence.heard);

  arrived.querySelector('button').addEventListener('click', () => { arrived.hidden = true; });
  borrow('run').then((board) => startLast('run', board, false));
  borrow('comparison').then((board) => startLast('comparison', board, true));
  window.addEventListener('hashchange', arrive);
  watch('value', () => receive(props.value));
  receive(props.value);
  borrow('run').then(() => arrive());
}
