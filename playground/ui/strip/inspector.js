// The inspector: why this token.

function fact(label, ...value) {
  return el('div', '', el('b', '', ...value), label);
}

function card(className, ...children) {
  return el('div', 'card ' + className, ...children);
}

function headOf(token, name, total) {
  const title = heading((token.prompt ? 'Prompt token ' : 'Token ') + (token.index + 1) + ' of ' + total, '← → to walk');
  const big = el('div', 'tokenhead', el('span', 'big' + (token.prompt ? ' read' : ''), tokenName(name, token.special)),
    el('small', '', 'id ' + token.id), el('small', '', 'bytes ' + spacedHex(token.hex)));
  return [title, big];
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
  return el('div', 'facts',
    fact('raw → final', percent(step.prob) + ' → ' + percent(step.finalProb)), fact('rank', count(step.rank)),
    fact('entropy', step.entropy.toFixed(2) + ' nats'), fact('lead of the 1st', percent(step.gap)),
    fact('chance to end', percent(step.endProb)), fact('time', milliseconds(step.time)));
}

function stagesOf(step, vocabulary) {
  const line = (name, setting, kept, mass) => el('div', 'stage', el('span', '', name, ' ', el('b', '', setting)),
    el('span', 'track', bar('', mass)), el('span', 'value', el('b', '', count(kept)), ' · ' + percent(mass)));
  const rows = step.stages.map((stage) => line(stageName(stage.name), stage.setting, stage.kept, stage.mass));
  return [line('whole vocabulary', '', vocabulary, 1), ...rows];
}

function diceOf(step) {
  const track = el('div', 'stretches');
  for (const stretch of diceStretches(step)) {
    const width = stretch.high - stretch.low;
    const part = el('span', stretch.id === null ? 'rest' : '', width > 0.09 && stretch.id !== null ? tokenName(stretch.text) : '');
    if (stretch.id === step.id) part.classList.add('hit');
    part.style.left = stretch.low * 100 + '%';
    part.style.width = width * 100 + '%';
    track.append(part);
  }
  const dice = el('div', 'dice', track);
  if (step.draw.u !== null) {
    const mark = el('div', 'roll', el('span', '', 'u = ' + step.draw.u.toFixed(3)));
    mark.style.left = step.draw.u * 100 + '%';
    mark.dataset.side = step.draw.u < 0.12 ? 'start' : step.draw.u > 0.88 ? 'end' : '';
    dice.append(mark);
  }
  dice.append(el('div', 'axis', ...['0', '0.25', '0.5', '0.75', '1'].map((text) => el('span', '', text))));
  return dice;
}

function inspectorOf(token, name, total, vocabulary) {
  if (token.prompt) return [card('', ...headOf(token, name, total), ...promptFacts(token))];
  const key = [el('span', 'key raw', 'raw'), el('span', 'key final', 'final')];
  return [
    card('', ...headOf(token, name, total), el('p', 'say', ...sentence(decisionOf(token))), stepFacts(token)),
    card('distribution', heading('Distribution', ...key), ...distribution(token, vocabulary, 10)),
    card('', heading('What each setting kept', 'tokens · raw probability'), ...stagesOf(token, vocabulary)),
    card('', heading('The dice', token.draw.u === null ? 'not rolled' : ''), diceOf(token)),
  ];
}
