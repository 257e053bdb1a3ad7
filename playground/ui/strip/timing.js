// Everything about time, kept together: ribbon, timeline, table of the loop. They choose a token by the
// event 'select' on the board.

function startTiming(board, card, runOf) {
  const lane = () => runOf().lanes[laneOf(runOf())];
  const choose = (index) => board.dispatchEvent(new CustomEvent('select', { detail: { lane: laneOf(runOf()), index } }));
  const nameOf = (index) => {
    const step = lane().steps[index];
    return step ? step.text : '…';
  };
  const ribbon = makeRibbon(choose, nameOf);
  const timeline = makeTimeline(choose);
  const table = makeLoopTable(choose);
  card.prepend(heading('Passes through the model'), ...ribbon.elements, timeline.element);
  card.append(table.element);
  card.querySelector('.heading .aside').replaceWith(ribbon.readout);
  let drawnAt = 0;
  return function update() {
    const run = runOf();
    if (!run || !lane()) return;
    // Four times a second while it runs; whoever looks at something else than the newest token is answered.
    if (run.follow && !lane().end && performance.now() - drawnAt < 240) return;
    drawnAt = performance.now();
    const { steps, end, reader } = lane();
    const passes = passesOf(run.prompt.length, steps, end, reader);
    const selected = run.selected && run.selected.lane === laneOf(run) ? run.selected.index : null;
    ribbon.update(passes, selected, run.weights);
    timeline.update(steps, selected, Boolean(end) || lane().paused);
    table.update(run.prompt.length, steps, end, passes);
  };
}

// The lane whose time is shown: that of the selected token.
function laneOf(run) {
  return run.selected && run.selected.lane !== 'prompt' ? run.selected.lane : 0;
}
