// Below the lanes: their numbers, and where one of them leaves the reference. Shown once the lanes are over.

// How many first tokens of an answer were given, not picked.
function givenOf(steps) {
  return steps.reduce((given, step, place) => (step.draw.method === 'forced' ? place + 1 : given), 0);
}

// `board`: {run(), reference(run), shown(lane) (whether it is still on the page), busy(), ask(name, request),
// open(place), strip(place)}.
function startResults(find, board) {
  const numbers = makeNumbers(find('.numbers'), choose);
  const parting = makePartingPanel(find('.parting'), {
    ask: board.ask,
    select: (index) => board.open({ lane: board.run().against, index }),
  });

  function drawNumbers(run) {
    const rows = (run ? run.rows : []).map((row, place) => ({ ...row, name: run.lanes[place].card.name }));
    numbers.show(rows, rows.map((_, place) => (board.shown(run.lanes[place]) ? run.lanes[place].card.hue() : null)));
  }

  // The lane whose parting is shown: the one that was chosen, else the first that parts, else the first.
  function chooseLane(run, reference) {
    const others = run.lanes.map((_, place) => place).filter((place) => place !== reference && board.shown(run.lanes[place]));
    if (others.includes(run.against)) return run.against;
    return others.find((place) => run.aligned[place].parts !== null) ?? others[0] ?? null;
  }

  function drawParting(run) {
    const reference = run && run.kind === 'lanes' && run.rows.length && !board.busy() ? board.reference(run) : -1;
    if (reference < 0) return parting.hide();
    run.against = chooseLane(run, reference);
    if (run.against === null) return parting.hide();
    for (const chip of run.lanes[reference].chips) delete chip.dataset.left;
    const { parts } = run.aligned[run.against];
    if (parts !== null) run.lanes[reference].chips[parts].dataset.left = 'true';
    const [one, other] = [reference, run.against].map((place) => {
      const { card, steps, params } = run.lanes[place];
      return { name: card.name, hue: card.hue(), ids: steps.map((step) => step.id), params, forced: givenOf(steps) };
    });
    const request = {
      model: run.model, prompt_ids: run.prompt.map((token) => token.id), reference: 0, lane: 1,
      lanes: [one, other].map(({ ids, params, forced }) => ({ ids, params, forced })),
    };
    return parting.show(request, { reference: one, lane: other, parts });
  }

  function draw() {
    drawNumbers(board.run());
    drawParting(board.run());
  }

  function against(place) {
    board.run().against = place;
    drawParting(board.run());
    find('.parting').scrollIntoView({ block: 'nearest' });
  }

  function choose(place) {
    const run = board.run();
    if (run.kind !== 'lanes') board.strip(place);
    else if (place !== board.reference(run)) against(place);
  }

  return { draw, against };
}
