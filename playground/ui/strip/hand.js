// What a visitor's hand is on: step, play, pause, stop, fork, force, edit, and the tree of forks.

const isBusy = () => document.documentElement.dataset.run === 'busy';

function button(className, label) {
  const made = el('button', className + ' quiet', label);
  made.type = 'button';
  return made;
}

function formNow() {
  const value = (selector) => document.querySelector(selector)?.value || '';
  return [value('#prompt textarea'), value('#system textarea'), value('#mode input:checked')].join('\u0000');
}

// `board`: {element, find, trigger, say(sentence), mode() (the colouring), run() (on the screen), adopt(run) (makes it the one
// that operations speak of), rewind(run) (the next message takes the place of that run's), mount(place, run) (shows
// that run, by default again the one on the screen, with that place selected)}.
function startHand(board) {
  let asked = null; // the run that the latest order goes on with
  let stepping = false; // a step is on its way: another press waits for it
  const play = button('play', 'Go on');
  play.id = 'play';
  const doing = el('span', 'doing');
  const write = button('write', 'Write on…');
  const edit = button('edit', 'Edit');
  const bar = el('div', 'hand', play, doing, write, edit);
  const change = button('change', 'Edit');
  board.find('.prompt-count').after(change);
  const told = el('p', 'kept');
  told.hidden = true;
  board.find('.legend').after(bar, told);
  const grove = startTree((root, node) => {
    const run = board.run().grove[root];
    board.mount(showBranch(run, run.branches[node]), run);
    draw();
  });
  told.after(grove.element);
  const edits = startEdits(board, order);

  // `more` may have another prompt: its ids, or null for that of the form.
  function order(kind, lane, known, forced, more) {
    asked = board.run();
    const seed = lane.params && lane.params.seed != null ? String(lane.params.seed) : null;
    const ids = asked.prompt.map((token) => token.id);
    board.trigger('go', { kind, model: asked.model, prompt_ids: ids, forced, known, seed, node: lane.node, text: '', ...more });
  }

  // The run of the same prompt with one id exchanged.
  function exchange(index, id) {
    const { prompt, segments, lanes } = board.run();
    const ids = prompt.map((token) => token.id);
    ids[index] = id;
    order('exchange', lanes[0], 0, [], { prompt_ids: ids, parts: partsOf(segments, prompt) });
  }

  function goOn(kind) {
    const lane = board.run().lanes[0];
    const ids = lane.steps.map((step) => step.id);
    order(kind, lane, ids.length, [...ids, ...idsDue(lane)]);
  }

  function step() {
    if (stepping && isBusy()) return;
    stepping = true;
    const run = board.run();
    const changed = run && run.form !== undefined && run.form !== formNow();
    if (run && (!run.recorded || run.live) && !changed && canGoOn(run.lanes[0])) goOn('step');
    else board.trigger('go', { kind: 'step' });
  }

  function fork({ lane, index, id }) {
    if (board.run().frozen) return board.say(board.run().frozen);
    if (lane === 'prompt') return exchange(index, id);
    const own = board.run().lanes[lane];
    const chosen = own.steps[index].id === id;
    const ids = own.steps.slice(0, index).map((each) => each.id);
    return order('fork', own, chosen ? index + 1 : index, [...ids, id]);
  }

  play.addEventListener('click', () => {
    if (isBusy()) board.trigger('hold', {});
    else goOn('play');
  });
  write.addEventListener('click', edits.writeOn);
  edit.addEventListener('click', edits.editAnswer);
  change.addEventListener('click', edits.editPrompt);
  document.addEventListener('click', (event) => {
    const pressed = event.target.closest?.('#step');
    if (pressed && !pressed.disabled) step();
  });
  board.element.addEventListener('fork', ({ detail }) => fork(detail));

  const operations = {
    branch(op) {
      const run = asked || board.run();
      run.kept = false;
      board.adopt(run);
      edits.close();
      board.find('#inspector').classList.remove('open'); // on a phone it covers what comes now
      const lane = openBranch(run, op, board.mode());
      tellGiven(told, op);
      board.mount(lane.steps.length ? { lane: 0, index: lane.steps.length - 1 } : null);
    },
    pause(op, run) {
      const lane = goingLane(run, op.lane);
      lane.paused = true;
      run.follow = false;
    },
  };

  function draw() {
    const run = board.run();
    const lane = run && run.lanes[0];
    const busy = isBusy();
    stepping = stepping && busy;
    bar.hidden = !lane;
    if (!lane) return;
    const going = busy && !lane.end; // a run that waits for the model or a lane leaves the one before it on the screen
    play.textContent = going ? '❚❚ Pause' : '▶ Go on';
    play.disabled = !going && (busy || Boolean(run.frozen) || !canGoOn(lane));
    play.title = run.frozen || !play.disabled ? run.frozen : 'The answer has ended: choose another token somewhere, or write on.';
    for (const each of [write, edit, change]) {
      each.disabled = busy || Boolean(run.frozen) || !lane.steps.length;
      each.title = run.frozen;
    }
    const made = count(lane.steps.length) + ' token' + (lane.steps.length === 1 ? '' : 's');
    doing.textContent = !run.branches ? '' : lane.end ? endedInWords(lane.end.reason, made)
      : lane.paused ? 'paused after ' + made : lane === run.going && busy ? 'writing · ' + made : made;
    bar.dataset.state = lane.end ? 'ended' : lane.paused ? 'paused' : 'writing';
    drawTree(grove.tree, run);
  }

  // `beside`: the run that was asked with another prompt stays as it was.
  function begun(run, params, beside) {
    startBranches(run, params, beside ? asked : null);
    run.form = formNow();
    edits.close();
    told.hidden = true;
  }

  return { operations, begun, draw };
}

function endedInWords(reason, made) {
  if (reason === 'stopped') return 'stopped after ' + made;
  return made + ', ended by ' + (REASONS[reason] || reason);
}

// After an edit or forced text: what stayed and what came anew, by ids.
function tellGiven(place, op) {
  place.hidden = op.kind !== 'force' && op.kind !== 'edit';
  if (place.hidden) return;
  const given = op.given.length;
  const start = (op.kind === 'edit' ? 'Edited: ' : 'Forced: ') + count(op.at) + ' token' + (op.at === 1 ? '' : 's') + ' kept, '
    + (given ? count(given) + ' encoded anew: ' : 'none encoded anew.');
  const ids = op.given.slice(0, 12).flatMap(([id, text]) => [tokenName(text), el('small', '', ' ' + id + ' ')]);
  place.replaceChildren(start, ...ids, given > 12 ? '…' : '');
}
