// The inspector: why this token, what else it could have been, and what other settings would have done.

function fact(label, ...value) {
  return el('div', '', el('b', '', ...value), label);
}

function card(className, ...children) {
  return el('div', 'card ' + className, ...children);
}

function headOf(token, name) {
  const big = el('div', 'tokenhead', el('span', 'big' + (token.prompt ? ' read' : ''), tokenName(name, token.special)),
    el('small', '', 'id ' + token.id), el('small', '', 'bytes ' + spacedHex(token.hex)));
  return [heading('', '← → to walk'), big];
}

function promptFacts(token) {
  if (token.prob === null) return [el('p', 'say', 'The first token: nothing stands before it, so nothing predicted it.')];
  return [
    el('div', 'facts', fact('raw', percent(token.prob)), fact('rank', count(token.rank)), fact('surprise', (-token.logprob).toFixed(2) + ' nats')),
    el('p', 'say', 'You gave this token, the model only read it. Given the text before it, it would have been its ',
      el('b', '', ordinal(token.rank)), ' choice.'),
  ];
}

function stepFacts(step) {
  const entropies = [step.entropy, step.finalEntropy].map((nats) => nats.toFixed(2));
  return el('div', 'facts',
    fact('raw → final', percent(step.prob) + ' → ' + percent(step.finalProb)),
    fact(tiedIds(step).has(step.id) ? 'rank, a tie' : 'rank', count(step.rank)),
    fact('entropy, nats', entropies[0] === entropies[1] ? entropies[0] : entropies.join(' → ')),
    fact('lead of the 1st', percent(step.gap)),
    fact('chance to end', percent(step.endProb)), fact('time', milliseconds(step.time)));
}

// `context`: {ask(request), fork(detail)}; `ask` answers with the JSON of ui/look.py.
function makeInspector(cards, context) {
  const settings = makeAsker(context.ask);
  const rolls = makeAsker(context.ask);
  let shown = null; // {token, place, run, params, changes, moved, found, …} of the token on show
  let arithmetic = false;

  // What stands beneath the sliders: the run's own step, or the same under other settings.
  function beneath() {
    drawRows();
    drawLower();
  }

  function drawRows() {
    const { token, run, moved, parts } = shown;
    const step = moved || token;
    const rows = arithmetic ? softmaxTable(step, likeliest(step, 10).rows, run.vocabulary)
      : distribution(step, run.vocabulary, 10, { reasons: true, run: token });
    parts.rows.replaceChildren(...rows);
    parts.distribution.classList.toggle('hypothetical', Boolean(moved));
    parts.keys.replaceChildren(...(arithmetic ? ['softmax of the logits, no setting'] : [el('span', 'key raw', 'raw'), el('span', 'key final', 'final')]));
    parts.toggle.textContent = arithmetic ? 'Show the bars' : 'Show the arithmetic';
    parts.toggle.setAttribute('aria-pressed', String(arithmetic));
  }

  function drawLower() {
    const { token, run, moved, parts } = shown;
    const step = moved || token;
    const mark = moved ? [el('span', 'hypothetical', 'what if')] : [];
    const roll = (u, told) => ask(rolls, { u }, (step, answer) => {
      if (!step) return told(null, answer.error);
      return told({ id: step.id, text: step.text, low: step.draw.low, high: step.draw.high });
    });
    parts.lower.replaceChildren(
      card('funnel' + (moved ? ' hypothetical' : ''), heading('What each setting kept', ...mark), ...funnelOf(step, run.vocabulary)),
      card('rolling' + (moved ? ' hypothetical' : ''),
        heading('The dice', ...(mark.length ? [mark[0].cloneNode(true)] : [diceOpen(step) ? 'drag to try another roll' : step.draw.u === null ? 'not rolled' : 'only one token was left'])),
        makeDice(step, run.vocabulary, roll, offer)));
  }

  function offer(stretch) {
    if (stretch.id === shown.token.id || isAlone()) return null;
    const button = el('button', 'quiet go', 'Go on with ', tokenName(stretch.text));
    button.type = 'button';
    button.addEventListener('click', () => fork(stretch.id));
    return button;
  }

  function fork(id) {
    context.fork({ ...shown.place, id });
  }

  function ask(asker, more, told) {
    const { token, run, params, changes, place } = shown;
    const mine = shown;
    if (!params) return told(null, { error: 'this run came without its settings.' });
    return asker.ask({
      model: run.model,
      prompt_ids: run.prompt.map((each) => each.id),
      answer_ids: run.lanes[place.lane].steps.slice(0, place.index).map((each) => each.id),
      params: { ...params, ...changes },
      given: token.draw.method === 'forced' ? token.id : null,
      ...more,
    }, (answer) => {
      if (mine !== shown) return;
      const step = answer.error ? null : readStep(answer.steps[0], { texts: answer.texts || {}, names: answer.names || [] });
      // The raw distribution depends on no setting: if it moved, another model made this run.
      if (step && Math.abs(step.entropy - token.entropy) > 0.05) {
        told(null, { error: 'Not available here: the model that runs now is not the one of this run.' });
      } else told(step, answer);
    });
  }

  // New sliders or a new text to find: one question answers both.
  function again() {
    const { changes, whatif, finder, token, params } = shown;
    const text = finder.text();
    const active = Object.keys(changes).length > 0;
    if (!text.trim()) finder.clear();
    if (!active) back();
    if (!active && !text.trim()) return settings.drop();
    if (active && !shown.moved) whatif.tell(true, ['What if: the run itself is unchanged. Working it out …']);
    return ask(settings, { find: text.trim() ? text : null }, (step, answer) => {
      if (!step) {
        if (active) whatif.tell(true, [answer.error]);
        else finder.tell(answer.error);
        return;
      }
      if (active) {
        shown.moved = step;
        whatif.tell(true, whatIfWords(token, step, params));
        beneath();
      }
      if (text.trim()) finder.show(step, answer.found, token);
    });
  }

  function back() {
    const { whatif, token, params, moved } = shown;
    shown.moved = null;
    whatif.tell(false, whatIfWords(token, null, params));
    if (moved) beneath();
  }

  function build(name) {
    const { token, params, run } = shown;
    settings.drop();
    rolls.drop();
    if (token.prompt) {
      cards.replaceChildren(card('', ...headOf(token, name), ...promptFacts(token)));
      return;
    }
    const whatif = makeWhatIf(params, (changes) => { shown.changes = changes; again(); });
    const finder = makeFinder(again);
    const toggle = el('button', 'quiet');
    toggle.type = 'button';
    toggle.id = 'arithmetic';
    toggle.addEventListener('click', () => { arithmetic = !arithmetic; drawRows(); });
    const rows = el('div', 'rows');
    const keys = el('span', 'keys');
    const parts = {
      rows, toggle, keys, lower: el('div', 'lower'),
      distribution: card('distribution', heading('Distribution', keys), rows, el('div', 'tools', finder.element, toggle)),
    };
    Object.assign(shown, { whatif, finder, parts });
    whatif.tell(false, params ? whatIfWords(token, null, params) : ['Not available here: this run came without its settings.']);
    beneath();
    const why = card('', ...headOf(token, name), el('p', 'say', ...sentence(decisionOf(token))), stepFacts(token));
    cards.replaceChildren(why, whatif.element, parts.distribution, parts.lower);
  }

  cards.addEventListener('click', (event) => {
    const row = event.target.closest('button.candidate');
    if (row) fork(Number(row.dataset.id));
  });

  return {
    // The same token again keeps what a person set on it.
    show(token, place, run, name) {
      const total = token.prompt ? run.prompt.length : run.lanes[place.lane].steps.length;
      if (!shown || shown.token !== token || !cards.firstChild) {
        shown = { token, place: { ...place }, run, params: (!token.prompt && run.lanes[place.lane].params) || run.params || null, changes: {}, moved: null };
        build(name);
      }
      cards.querySelector('h2').textContent = (token.prompt ? 'Prompt token ' : 'Token ') + count(token.index + 1) + ' of ' + count(total);
    },
  };
}
