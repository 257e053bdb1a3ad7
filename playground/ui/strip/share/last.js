// The latest run of a board comes back after a reload: the messages that told it stay in this browser's IndexedDB,
// until a newer run takes their place or they are forgotten.

const LAST_VERSION = 1; // of what is kept; what another version kept is let go
const MOST_LAST = 8 * 2 ** 20; // characters
const LAST_EVERY_MS = 1500;

// One value by key. Each call resolves when the browser has done it.
function lastShelf() {
  let opened = null;
  const open = () => new Promise((resolve, reject) => {
    const asked = indexedDB.open('token-playground', 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore('last');
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error);
  });
  async function use(mode, work) {
    opened = opened || open();
    const transaction = (await opened).transaction('last', mode);
    const asked = work(transaction.objectStore('last'));
    return new Promise((resolve, reject) => {
      transaction.oncomplete = () => resolve(asked.result);
      transaction.onabort = transaction.onerror = () => reject(transaction.error);
    });
  }
  return {
    read: (key) => use('readonly', (store) => store.get(key)),
    write: (key, value) => use('readwrite', (store) => store.put(value, key)),
    remove: (key) => use('readwrite', (store) => store.delete(key)),
  };
}

// What of a message belongs to the run: from its reset on, and what was said before that.
function beginningOf(ops) {
  const at = ops.findIndex((op) => op.op === 'reset');
  return ops.filter((op, place) => place >= at || op.op === 'turn');
}

// The operations that show a kept run again. One that was cut off waits to be gone on with.
function lastOps(texts) {
  const ops = texts.flatMap((text) => JSON.parse(text).ops).filter((op) => op.op !== 'status');
  const open = (made, { op }) => (op === 'reset' || op === 'branch' ? true : op === 'end' || op === 'pause' ? false : made);
  const going = ops.reduce(open, false);
  return [...ops, ...(going ? [{ op: 'pause', lane: 0 }] : []), { op: 'status', state: 'idle', text: '' }];
}

// `board`: what a board lends (lent.js). `whole`: a run is kept once it is over, not while it goes.
function startLast(what, board, whole) {
  const shelf = lastShelf();
  let texts = []; // of the run that the board shows
  let size = 0;
  let said = null; // the turn that the next run belongs to
  let own = false; // whether this visitor ran it: what was recorded or opened is not kept
  let planned = null;

  async function save() {
    planned = null;
    try {
      if (size > MOST_LAST) await shelf.remove(what);
      else await shelf.write(what, { version: LAST_VERSION, texts });
    } catch { /* a private window, or a full disk: the run stays as long as this page */ }
  }

  board.heard = (text, { ops }) => {
    const reset = ops.find((op) => op.op === 'reset');
    said = ops.find((op) => op.op === 'turn') || said;
    if (reset) {
      const begun = beginningOf(ops);
      texts = [JSON.stringify({ ops: said && begun[0] !== said ? [said, ...begun] : begun })];
      size = texts[0].length;
      own = !reset.recorded;
      said = null;
    } else if (texts.length) {
      own = own || ops.some((op) => op.op === 'branch' || op.op === 'lane');
      size += text.length;
      texts = size > MOST_LAST ? [''] : [...texts, text];
    }
    const over = ops.some((op) => op.op === 'status' && (op.state === 'idle' || op.state === 'error'));
    if (!own || !texts.length || (whole && !over)) return;
    if (over) {
      clearTimeout(planned);
      save();
    } else if (planned === null) planned = setTimeout(save, LAST_EVERY_MS);
  };

  board.forget = () => {
    clearTimeout(planned);
    planned = null;
    own = false;
    shelf.remove(what).catch(() => {});
    board.begin();
  };

  shelf.read(what).then((kept) => {
    if (!kept || !board.untouched()) return;
    try {
      if (kept.version !== LAST_VERSION) throw new Error('kept by another version');
      board.receive(JSON.stringify({ run: 2, n: 1, ops: lastOps(kept.texts) }));
      board.mine();
    } catch {
      board.forget();
    }
  }, () => {});
}
