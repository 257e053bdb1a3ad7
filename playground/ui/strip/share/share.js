// Links, saved runs and files: what the server answers, and where it goes.

// It sends save, file, open and replay (ui/share.py) and is told, in operations as a board is: `page` how this page
// is served, `show` what a board is to show, `file` a download, `saved` an id, `opened` what is on the screen now,
// `refused` a sentence.
function startShare(element, props, watch, trigger) {
  const panel = element.querySelector('.share');
  const told = panel.querySelector('.told');
  let latest = { run: 0, n: 0 };

  const operations = {
    page: (op) => { panel.dataset.address = op.address; },
    show: ({ what, ops }, { run, n }) => window.tokenPlayground.show(what, JSON.stringify({ run, n, ops })),
    file: (op) => { saveFile(op).catch(() => operations.refused({ why: 'The browser could not save the file.' })); },
    saved: ({ id, days }) => { told.textContent = id + ' is kept for ' + days + ' days.'; },
    opened: ({ why }) => { told.textContent = why || ''; },
    refused: ({ why }) => { told.textContent = why; },
  };

  function receive(text) {
    if (!text) return;
    const message = JSON.parse(text);
    if (message.run < latest.run || (message.run === latest.run && message.n <= latest.n)) return;
    latest = { run: message.run, n: message.n };
    for (const op of message.ops) operations[op.op](op, message);
  }

  watch('value', () => receive(props.value));
  receive(props.value);
}
