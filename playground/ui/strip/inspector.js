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
  return [heading('', '← → to walk', isFirst(token) || isAlone() ? '' : ', ↓ to its rivals'), big];
}

function isFirst(token) {
  return token.prompt && token.prob === null;
}

function promptFacts(token) {
  if (isFirst(token)) return [el('p', 'say', 'The first token: nothing stands before it, so the model expected nothing here.')];
  const { rivals } = token;
  const facts = [fact('raw', percent(token.prob)), fact('rank', count(token.rank)), fact('surprise', (-token.logprob).toFixed(2) + ' nats')];
  if (rivals) facts.push(fact('entropy', rivals.entropy.toFixed(2) + ' nats'), fact('lead of the 1st', percent(rivals.gap)), fact('chance to end', percent(rivals.endProb)));
  return [
    el('div', 'facts', ...facts),
    el('p', 'say', 'This token was given, the model only read it. After the text before it, it would have been its ',
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

// `context`: {ask(request), fork(detail), prefix}; `ask` answers with the JSON of ui/look.py. `prefix` sets the ids of
// the controls apart where a page has more than one inspector.
function makeInspector(cards, context) {
  const prefix = context.prefix || '';
  const settings = makeAsker(context.ask);
  const rolls = makeAsker(context.ask);
  const rivals = makeRivals(context.ask);
  let shown = null; // {token, place, run, params, changes, moved, found, …} of the token on show
  let kept = { run: null, changes: {} }; // what-if settings go along from token to token of a run
  let arithmetic = false;

  // What stands beneath the sliders: the run's own step, or the same under other settings.
  function beneath() {
    drawRows();
    drawLower();
  }

  function drawRows() {
    const { token, run, moved, parts } = shown;
    const step = moved || (token.prompt ? token.rivals : token);
    const rows = arithmetic ? softmaxTable(step, likeliest(step, 10).rows, run.vocabulary)
      : distribution(step, run.vocabulary, 10, { reasons: true, run: token });
    parts.rows.replaceChildren(...rows);
    parts.distribution.classList.toggle('hypothetical', Boolean(moved));
    const keys = token.prompt ? ['raw: no setting applies to text that was given'] : [el('span', 'key raw', 'raw'), el('span', 'key final', 'final')];
    parts.keys.replaceChildren(...(arithmetic ? ['softmax of the logits, no setting'] : keys));
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
    if (!token.prompt && !params) return told(null, { error: 'this run came without its settings.' });
    const request = token.prompt ? rivalsRequest(run, token) : {
      model: run.model,
      prompt_ids: run.prompt.map((each) => each.id),
      answer_ids: run.lanes[place.lane].steps.slice(0, place.index).map((each) => each.id),
      params: { ...params, ...changes },
      given: token.draw.method === 'forced' ? token.id : null,
    };
    // The raw distribution depends on no setting: if it moved, another model made this run.
    const fits = (step) => (token.prompt ? fitsToken(step, token) : Math.abs(step.entropy - token.entropy) <= 0.05);
    return asker.ask({ ...request, ...more }, (answer) => {
      if (mine !== shown) return;
      const { step, problem } = readLook(answer, fits);
      told(step || null, step ? answer : { error: problem });
    });
  }

  // New sliders or a new text to find: one question answers both.
  function again() {
    const { changes, whatif, finder, token, params } = shown;
    const text = finder.text();
    const active = Object.keys(changes).length > 0;
    shown.waits = false;
    if (!text.trim()) finder.clear();
    if (!active && whatif) back();
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

  function makeDistribution() {
    const finder = makeFinder(again, prefix);
    const toggle = el('button', 'quiet');
    toggle.type = 'button';
    toggle.id = prefix + 'arithmetic';
    toggle.addEventListener('click', () => { arithmetic = !arithmetic; drawRows(); });
    const rows = el('div', 'rows');
    const keys = el('span', 'keys');
    const tools = el('div', 'tools', finder.element, toggle);
    const parts = {
      rows, toggle, keys, tools, lower: el('div', 'lower'), distribution: card('distribution', heading('Distribution', keys), rows, tools),
    };
    Object.assign(shown, { finder, parts });
    return parts;
  }

  function build(name) {
    settings.drop();
    rolls.drop();
    rivals.drop();
    if (shown.token.prompt) buildGiven(name);
    else buildMade(name);
  }

  function buildMade(name) {
    const { token, params, run } = shown;
    const whatif = makeWhatIf(params, kept.changes, (changes) => { shown.changes = kept.changes = changes; again(); }, prefix);
    const parts = makeDistribution();
    Object.assign(shown, { whatif, changes: whatif.changes });
    whatif.tell(false, params ? whatIfWords(token, null, params) : ['Not available here: this run came without its settings.']);
    beneath();
    const why = card('', ...headOf(token, name), el('p', 'say', ...sentence(decisionOf(token))), stepFacts(token));
    cards.replaceChildren(why, whatif.element, parts.distribution, parts.lower);
    if (!Object.keys(whatif.changes).length) return;
    if (!run.follow) return again();
    shown.waits = true; // nobody reads a step that is gone in a moment
    whatif.tell(true, ['What if: worked out when the run rests on a token.']);
  }

  // A token of the prompt: what else the model expected there. No settings, no dice: nothing was drawn.
  function buildGiven(name) {
    const mine = shown;
    const { token, run } = shown;
    const head = card('');
    const draw = (problem) => {
      head.replaceChildren(...headOf(token, name), ...promptFacts(token));
      titled();
      if (isFirst(token)) return;
      shown.parts.tools.hidden = !token.rivals;
      if (token.rivals) drawRows();
      else shown.parts.rows.replaceChildren(el('p', 'said', problem || 'Reading what else the model expected here …'));
    };
    if (isFirst(token)) cards.replaceChildren(head);
    else cards.replaceChildren(head, makeDistribution().distribution);
    draw();
    if (!isFirst(token) && !token.rivals) rivals.read(run, token, ({ problem }) => { if (mine === shown) draw(problem); });
  }

  function titled() {
    const { token, run, place } = shown;
    const total = token.prompt ? run.prompt.length : run.lanes[place.lane].steps.length;
    cards.querySelector('h2').textContent = (token.prompt ? 'Prompt token ' : 'Token ') + count(token.index + 1) + ' of ' + count(total);
  }

  cards.addEventListener('click', (event) => {
    const row = event.target.closest('button.candidate');
    if (row) fork(Number(row.dataset.id));
  });

  return {
    // The same token again keeps what a person set on it.
    show(token, place, run, name) {
      if (kept.run !== run) kept = { run, changes: {} };
      if (!shown || shown.token !== token || !cards.firstChild) {
        shown = { token, place: { ...place }, run, params: (!token.prompt && run.lanes[place.lane].params) || run.params || null, changes: {}, moved: null };
        build(name);
      } else if (shown.waits && !run.follow) again();
      titled();
    },
  };
}
