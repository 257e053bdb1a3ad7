// What a board shows, as the panel needs it: {key (stands for it), place (of the selected token), request (what
// the server is asked with), picture, figures: [{name, label, figure()}]}; null where it shows nothing.

function questionOf(run) {
  const own = run.prompt.filter((token) => ['user', 'raw'].includes(run.segments[token.segment][0]));
  const last = own.length ? own[own.length - 1].segment : -1;
  return textOfTokens(own.filter((token) => token.segment === last)).text.replace(/\s+/g, ' ').trim();
}

// How each token of the answer came: [[until, forced, settings]], by stretches that came in the same way.
function howMade(branches, lane) {
  const stretches = [];
  lane.steps.forEach((step, index) => {
    let from = lane;
    while (from.parent !== null && index < from.at) from = branches[from.parent];
    const forced = step.draw.method === 'forced';
    const last = stretches[stretches.length - 1];
    if (last && last[1] === forced && last[2] === from.params) last[0] = index + 1;
    else stretches.push([index + 1, forced, from.params]);
  });
  return stretches;
}

function shownRun(board) {
  const run = board.now();
  const lane = run && run.lanes[0];
  if (!lane || !lane.steps.length) return null;
  const mode = board.mode();
  return {
    key: lane.steps, // the list is another one for each branch, and after each cut
    place: run.selected,
    request: {
      what: 'run', model: run.model, prompt_ids: run.prompt.map((token) => token.id), ids: lane.steps.map((step) => step.id),
      shown: lane.steps.map((step) => [step.finalProb, step.draw.u]),
      again: run.frozen || !lane.params ? null : {
        parts: partsOf(run.segments, run.prompt), stretches: howMade(run.branches, lane), watched: (run.watched || []).map(({ id }) => id),
      },
    },
    picture: { title: questionOf(run), lanes: [{ name: '', lane }], mode, foot: 'Token Playground' },
    figures: [{
      name: 'timeline', label: 'Timeline',
      figure: () => filledTimeline(PLOTS.timeline[isDark() ? 'dark' : 'light'], lane.steps, run.selected && run.selected.lane !== 'prompt' ? run.selected.index : null),
    }],
  };
}

function shownComparison(board) {
  const run = board.now();
  if (!run || !run.lanes.length || !run.lanes.some((lane) => lane.steps.length)) return null;
  const { lanes, names, reference } = board.standing();
  return {
    key: run.lanes[run.lanes.length - 1], place: run.selected,
    request: { what: 'comparison', lanes, names, reference },
    picture: {
      title: questionOf(run), lanes: lanes.map((number, place) => ({ name: names[place], lane: run.lanes[number] })), mode: board.mode(),
      foot: 'Token Playground',
    },
    figures: board.figures().map(({ name, label, made }) => ({ name, label, figure: () => made[isDark() ? 'dark' : 'light'] })),
  };
}
