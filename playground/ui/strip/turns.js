// The turns of a conversation: each keeps its run, which a click shows again.

// `show` puts a run on the screen, `shownRun` is the one that is there, `letGo` forgets it.
function startTurns(find, show, shownRun, letGo) {
  let turns = []; // the latest run of each turn
  let before = []; // the messages that stand before the next one
  let coming = null; // the messages of the run that is about to begin; null in raw mode

  function said(messages) {
    coming = messages;
    before = messages ? turnsBefore(messages) : [];
  }

  function begin(run) {
    run.said = coming;
    const number = coming ? turnsIn(coming) : 0;
    turns = turns.filter((turn) => turnsIn(turn.said) < number);
    if (coming) turns.push(run);
    for (const each of [...turns, run]) each.turns = turns; // a run that another takes the place of keeps its chat
  }

  // A run that is in no turn of this chat is shown again: its own chat comes back as it was.
  function revisit(run) {
    turns = run.turns;
    before = turns.length ? turnsBefore(turns[turns.length - 1].said) : [];
  }

  // Messages from a link or a file stand before the next one; the run on the screen is none of them.
  function resume(messages) {
    turns = [];
    before = messages;
    if (shownRun()) draw(shownRun());
    else drawTalk(null);
  }

  function forget() {
    resume([]);
  }

  // An example begins anew. What it shows is said below the examples.
  function example({ mode, prompt, lesson }) {
    forget();
    const place = document.querySelector('#examples');
    let line = place.querySelector('.lesson');
    if (!line) place.append(line = el('p', 'lesson'));
    line.textContent = lesson;
    return [mode, prompt];
  }

  // The next message stands where that of `run` stands: what came after it goes. A prompt that was made of ids was
  // a message's before.
  function rewind(run) {
    let origin = run;
    while (!origin.said && origin.from) origin = origin.from;
    before = origin.said ? turnsBefore(origin.said) : [];
  }

  function renew() {
    forget();
    const prompt = document.querySelector('#prompt textarea');
    prompt.focus();
    prompt.select();
  }

  // A reply to the turn on the screen. The turns after it go when its own run begins.
  function send(text) {
    const run = shownRun();
    before = [...run.said, { role: 'assistant', content: thoughtOf(run).answer }];
    const prompt = document.querySelector('#prompt textarea');
    prompt.value = text;
    prompt.dispatchEvent(new Event('input', { bubbles: true }));
    draw(run);
    setTimeout(() => document.querySelector('#generate').click());
  }

  // The chat's own card; `run` is null before the first one.
  function drawTalk(run) {
    const going = before.length > 0;
    document.documentElement.dataset.talk = going ? 'going' : '';
    const system = document.querySelector('#system textarea');
    if (system) system.readOnly = going;
    find('.talk').hidden = !going;
    const rows = turns.map((turn) => turnRow(turn, turn === run, () => choose(turn)));
    const earlier = before.length + ' earlier message' + (before.length === 1 ? '' : 's') + ', from a link or a file. Your next prompt goes on from there.';
    find('.turns').replaceChildren(...(rows.length ? rows : [el('p', 'leaves', earlier)]));
  }

  function draw(run) {
    drawTalk(run);
    const latest = turns[turns.length - 1];
    showNotice(find('.notice'), run, turns, { back: () => choose(latest), forget: letGo });
    const shown = turns.indexOf(run) + 1;
    find('.reply').hidden = !shown || !run.lanes[0].end || !thoughtOf(run).finished;
    box.placeholder = run === latest ? 'Reply to this answer' : 'Reply to turn ' + shown;
    leaves.textContent = leavesInWords(shown, turns.length);
    markLeaving();
  }

  // Looking at another turn takes a reply back that did not become a run.
  function choose(turn) {
    before = turnsBefore(turns[turns.length - 1].said);
    show(turn);
  }

  // While a reply to an earlier turn is being written, the list shows which turns it would leave.
  function markLeaving() {
    const shown = turns.indexOf(shownRun());
    [...find('.turns').children].forEach((row, index) => {
      row.classList.toggle('leaving', box.value !== '' && shown >= 0 && index > shown);
    });
  }

  const box = find('.reply textarea');
  const leaves = el('p', 'leaves');
  find('.reply').prepend(leaves);
  box.addEventListener('input', markLeaving);
  find('.reply').addEventListener('submit', (event) => {
    event.preventDefault();
    if (!box.value) return;
    send(box.value);
    box.value = '';
  });
  box.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    find('.reply').requestSubmit();
  });
  find('.renew').addEventListener('click', renew);

  // The form reads it from here when Generate is pressed.
  window.tokenPlayground = { example, resume, history: () => (before.length ? JSON.stringify(before) : '') };
  return { said, begin, draw, rewind, revisit };
}

// What a reply to turn `shown` of `total` leaves behind; empty for the latest.
function leavesInWords(shown, total) {
  if (!shown || shown >= total) return '';
  const one = shown + 1 === total;
  const those = one ? 'turn ' + total : shown + 2 === total ? 'turns ' + (shown + 1) + ' and ' + total : 'turns ' + (shown + 1) + ' to ' + total;
  return 'A reply goes on from turn ' + shown + '. Sending it leaves ' + those + ' behind; until then ' + (one ? 'it stays.' : 'they stay.');
}

function turnsIn(messages) {
  return messages.filter((message) => message.role === 'user').length;
}

// What stands before the message of the latest turn. Before the first that is nothing: a system message alone may
// still be changed, and comes from the form.
function turnsBefore(messages) {
  return turnsIn(messages) > 1 ? messages.slice(0, -1) : [];
}

function turnRow(turn, shown, choose) {
  const answer = thoughtOf(turn).answer.trim();
  const words = el('span', 'words', el('b', '', turn.said[turn.said.length - 1].content), el('span', '', answer || '…'));
  const row = el('button', 'turn', el('small', '', turnsIn(turn.said)), words, el('small', '', count(turn.lanes[0].steps.length) + ' tokens'));
  row.type = 'button';
  if (shown) row.setAttribute('aria-current', 'true');
  row.addEventListener('click', choose);
  return row;
}
