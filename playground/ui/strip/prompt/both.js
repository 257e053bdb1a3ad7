// The same messages under two templates: first tokens side by side, both answers, the prompts aligned.

function startBoth(section, { say, ask, halt, first }) {
  const find = (selector) => section.querySelector(selector);
  const choices = [find('.first'), find('.second')];
  const panels = find('.sides');
  let run = null;
  let names = []; // of both sides, as they were asked for

  for (const choice of choices) {
    for (const [value, label] of TEMPLATES) choice.append(Object.assign(el('option', '', label), { value }));
  }
  choices[0].value = 'own';
  choices[1].value = 'llama3';
  find('#run-both').addEventListener('click', begin);
  find('.halt').addEventListener('click', halt);

  function begin() {
    const [one, two] = choices.map((choice) => choice.value);
    if (one === two && one !== 'edited') return say('error', 'Both sides have the same template: choose another for one of them.');
    say('going', 'Asking …');
    names = choices.map((choice) => choice.selectedOptions[0].textContent);
    return ask({
      first: first(one), second: first(two), params: { temperature: Number(find('.heat').value) || 0 },
      max_tokens: Math.max(1, Math.round(Number(find('.length').value)) || 1),
    });
  }

  function side(number) {
    const lane = makeLane(number);
    const panel = {
      lane, tokens: [], sums: el('p', 'sums'), bars: el('div', 'firsts'), name: el('h3', ''), end: el('p', 'end'), notes: el('ul', 'notes'),
    };
    panel.element = el('div', 'side', panel.name, panel.notes, el('h4', '', 'Its first token'), panel.bars, panel.sums, el('h4', '', 'Its answer'), lane.element, panel.end);
    panel.element.dataset.side = number;
    return panel;
  }

  function drawFirsts() {
    const steps = run.firsts;
    if (!steps[0] || !steps[1]) return;
    const rows = firstTokens(steps, 8);
    const largest = Math.max(...rows.flatMap((row) => row.probs.map((prob) => prob || 0)), 1e-12);
    run.sides.forEach((panel, number) => {
      panel.bars.replaceChildren(...rows.map(({ id, text, special, probs }) => {
        const prob = probs[number];
        const value = prob === null ? el('span', 'raw', 'not listed') : el('b', 'raw', percent(prob));
        const row = el('div', 'candidate given', tokenName(text, special), el('span', 'bars', bar('final', (prob || 0) / largest)), value);
        row.dataset.id = id;
        row.classList.toggle('chosen', id === steps[number].id);
        return row;
      }));
      panel.sums.replaceChildren('Chance to end at once ', el('b', '', percent(run.ending[number])), ' · entropy ', el('b', '', steps[number].entropy.toFixed(2)), ' nats');
    });
  }

  const cell = (panel, index) => {
    if (index === null) return [el('td', 'none', ''), el('td', 'none', '')];
    const token = panel.tokens[index];
    return [el('td', 'at', String(index + 1)), el('td', '', tokenName(panel.pieces[index], token.special))];
  };

  function drawAligned() {
    const { rows, whole } = run.aligned;
    const [one, two] = run.sides;
    const body = rows.map(([i, j]) => {
      const same = i !== null && j !== null && one.tokens[i].id === two.tokens[j].id;
      return el('tr', same ? 'same' : 'other', ...cell(one, i), ...cell(two, j));
    });
    const heads = names.flatMap((name) => [el('th', '', ''), el('th', '', name)]);
    const alike = body.filter((row) => row.className === 'same').length;
    find('.aligning').hidden = false;
    find('.aligning summary').textContent = 'The two prompts, token by token: ' + count(alike) + ' alike'
      + (whole ? '' : '; the rest is too different to be held side by side');
    find('.aligning table').replaceChildren(el('thead', '', el('tr', '', ...heads)), el('tbody', '', ...body));
  }

  const operations = {
    reset() {
      run = { book: { texts: {}, names: [] }, sides: [side(0), side(1)], firsts: [null, null], ending: [0, 0], aligned: null };
      panels.replaceChildren(...run.sides.map((panel) => panel.element));
      find('.aligning').hidden = true;
    },

    prompt(op) {
      const panel = run.sides[op.side];
      panel.tokens = op.tokens.map(readPromptToken);
      panel.pieces = piecesOf(panel.tokens).map((piece, i) => (piece.part === undefined ? flowing(piece.text) : spacedHex(panel.tokens[i].hex)));
      panel.name.replaceChildren(names[op.side], el('small', '', ' ' + plural(op.tokens.length, 'token')));
      panel.notes.replaceChildren(...op.notes.map((note) => el('li', '', note)));
      if (run.sides.every((each) => each.tokens.length)) drawAligned();
    },

    aligned(op) { run.aligned = op; },

    tokens(op) {
      extendLane(run.sides[op.lane].lane, readSteps(op, run.book), 'surprise');
      settlePlain(run.sides[op.lane].lane);
    },

    end(op) {
      const panel = run.sides[op.lane];
      endLane(panel.lane, op);
      panel.end.textContent = plural(panel.lane.steps.length, 'token') + '. ' + (op.message || op.reason);
    },

    side({ side: number, first: told, end_prob: ending }) {
      [run.firsts[number]] = readSteps(told, { texts: {}, names: [] });
      run.ending[number] = ending;
      drawFirsts();
    },
  };

  function busy(going) {
    find('.halt').disabled = !going;
    if (!going && run) markEnds(run.sides.map((panel) => panel.lane));
  }

  return { operations, busy };
}
