// The loop as a table: pass by pass what went in, what was at hand, what was picked. Made when opened.

const LOOP_HEADS = ['pass', 'goes in', 'read', 'from cache', 'picked', 'raw', 'final', 'time'];

function makeLoopTable(choose) {
  const body = el('tbody');
  const table = el('table', '', el('thead', '', el('tr', '', ...LOOP_HEADS.map((title) => {
    const head = el('th', '', title);
    head.scope = 'col';
    return head;
  }))), body);
  const box = el('div', 'loop-rows', table);
  box.tabIndex = 0;
  box.setAttribute('role', 'region');
  box.setAttribute('aria-label', 'the loop, pass by pass');
  const details = el('details', 'loop', el('summary', '', 'The loop as a table'), box);
  let shown = { steps: null, length: 0, ended: false };
  let now = null;

  function rowOf(row) {
    const picked = el('button', 'pick', tokenName(row.picked, row.special));
    picked.type = 'button';
    picked.dataset.index = row.index;
    const came = row.came === null ? 'the prompt' : tokenName(row.came);
    return el('tr', '', ...[row.pass, came, row.fresh, row.held, picked, row.prob, row.how === 'sampled' ? row.finalProb : row.how, row.time]
      .map((cell) => el('td', '', cell)));
  }

  // Only what is new is made; all of it again when another run came, or an end told the times of prefill.
  function draw() {
    if (!details.open || !now) return;
    const { steps, end, promptLength, passes } = now;
    if (shown.steps !== steps || shown.length > steps.length || (end && !shown.ended)) {
      body.replaceChildren();
      shown = { steps, length: 0, ended: Boolean(end) };
    }
    const rows = [];
    for (let place = shown.length; place < steps.length; place += 1) rows.push(rowOf(loopRow(promptLength, steps, place, passes)));
    body.append(...rows);
    shown.length = steps.length;
  }

  details.addEventListener('toggle', draw);
  body.addEventListener('click', (event) => {
    const row = event.target.closest('tr');
    if (row) choose(Number(row.querySelector('.pick').dataset.index));
  });
  return {
    element: details,
    update(promptLength, steps, end, passes) {
      now = { promptLength, steps, end, passes };
      draw();
    },
  };
}
