// How the lanes of a run stand to the reference: the tokens they share with it, and the first of their own.

// New tokens of lane `changed`: where it leaves the reference; of the reference's own tokens, where each lane does.
function alignLanes(run, reference, changed) {
  if (reference < 0) return;
  run.lanes.forEach((lane, place) => {
    if (place === reference || (changed !== reference && changed !== place)) return;
    const before = run.aligned[place];
    if (before.parts !== null) return;
    const now = alignTo(run.lanes[reference].steps, lane.steps, before.shared);
    for (const chip of lane.chips.slice(before.shared, now.shared)) chip.classList.add('shared');
    if (now.parts !== null) lane.chips[now.parts].dataset.parts = 'true';
    run.aligned[place] = now;
  });
}

// All of it anew, for another reference.
function alignAnew(run, reference) {
  for (const chip of run.lanes.flatMap((lane) => lane.chips)) {
    chip.classList.remove('shared');
    delete chip.dataset.parts;
    delete chip.dataset.left;
  }
  run.aligned = run.lanes.map(() => ({ shared: 0, parts: null }));
  alignLanes(run, reference, reference);
}

function tellStanding(run, reference, busy) {
  const other = run.lanes[reference];
  run.lanes.forEach((lane, place) => {
    if (!other) return lane.card.say('');
    if (lane === other) return lane.card.say('reference');
    const ended = !busy || Boolean(lane.end && other.end);
    const words = alignmentWords(run.aligned[place], ended, [other.steps.length, lane.steps.length]);
    return lane.card.say(words, { apart: run.aligned[place].parts !== null, choice: ended && Boolean(words) });
  });
}

// What is said of a run as a whole: that it came from a file, that it cannot go on here, that 16 bit rounds.
function tellNotice(place, run) {
  const parts = [];
  if (run && run.kept) {
    const forget = button('', 'Forget it');
    forget.addEventListener('click', run.kept);
    parts.push(el('b', '', 'Your last comparison, from this browser. '), forget, ' ');
  }
  if (run && run.recorded) parts.push(el('b', '', 'A saved comparison, recorded with ', el('bdi', '', run.recorded.model), '. '));
  if (run && run.live === false && run.why) parts.push(run.why + ' ');
  if (run && run.batch && /16/.test(run.batch.dtype) && !run.batch.exact) {
    parts.push(el('b', '', 'Written in one batch, in ' + run.batch.dtype + '. '),
      'In 16 bit a lane need not equal the same lane alone: rounding depends on the batch. ', el('b', '', 'Exact'), ' writes lane by lane.');
  }
  place.hidden = !parts.length;
  place.replaceChildren(...parts);
}
