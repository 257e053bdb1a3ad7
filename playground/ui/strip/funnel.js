// The funnel: one row a stage, how many tokens were left and what they weigh, and where the stage cut.

function ruleOf(cut, step) {
  const rule = el('div', 'rule');
  const kept = el('i', 'stays');
  kept.style.left = cut.from * 100 + '%';
  kept.style.width = (cut.to - cut.from) * 100 + '%';
  rule.append(kept);
  for (const tick of cut.ticks) {
    const mark = el('i', 'tick' + (tick.chosen === step.id ? ' chosen' : ''));
    mark.style.left = tick.at * 100 + '%';
    rule.append(mark);
  }
  const edge = el('i', 'edge');
  edge.style.left = cut.at * 100 + '%';
  rule.append(edge);
  return rule;
}

function funnelRow(name, setting, kept, mass, vocabulary, cut, step) {
  const tracks = el('span', 'tracks', el('span', 'track count', bar('', countShare(kept, vocabulary))), el('span', 'track mass', bar('', mass)));
  const value = el('span', 'value', el('b', '', count(kept)), ' · ' + percent(mass));
  const row = el('div', 'stage', el('span', 'what', name, ' ', el('b', '', setting)), tracks, value);
  if (cut) row.append(el('div', 'cutoff', ruleOf(cut, step), el('span', '', cut.words)));
  return row;
}

function funnelOf(step, vocabulary) {
  return [
    el('div', 'keys', el('span', 'key count', 'tokens left, log scale'), el('span', 'key mass', 'their raw probability')),
    funnelRow('whole vocabulary', '', vocabulary, 1, vocabulary, null, step),
    ...step.stages.map((stage) => (
      funnelRow(stageName(stage.name), stage.setting, stage.kept, stage.mass, vocabulary, cutoffOf(step, stage), step))),
  ];
}
