// What stands above the strips where the lanes are many: the tree of samples, the heat map of a sweep.

// `choose(lane, index)` hears which sample's strip is wanted, and at which token.
function makeSampleTree(tree, choose) {
  const list = el('div', 'tree-rows');
  const rows = branchRows(tree.root);
  for (const { branch, depth, at } of rows) {
    const text = el('span', 'text', flowing(branch.text) || (depth ? '' : 'they part at the first token'));
    text.dir = 'auto';
    const share = el('span', 'portion', el('b', '', percent(branch.share)), ' ' + count(branch.samples.length) + ' of ' + count(tree.samples));
    const track = el('span', 'mini', bar('', branch.share));
    const ends = branch.ended.length && branch.children.length ? el('small', '', count(branch.ended.length) + ' end here') : null;
    const row = el('button', 'branch', track, text, ends, share);
    row.type = 'button';
    row.style.setProperty('--depth', depth);
    row.dataset.samples = branch.samples.join(' ');
    row.title = 'chance of this stretch, once here: ' + percent(branch.prob);
    row.addEventListener('click', () => {
      list.querySelectorAll('[aria-current]').forEach((other) => other.removeAttribute('aria-current'));
      row.setAttribute('aria-current', 'true');
      choose(branch.samples[0], at);
    });
    list.append(row);
  }
  const leaves = rows.reduce((sum, { branch }) => sum + (branch.ended.length ? 1 : 0), 0);
  const held = el('p', 'said', el('b', '', count(tree.samples) + ' samples, ' + count(leaves) + (leaves === 1 ? ' answer' : ' different answers') + '.'),
    ' The tree holds ', el('b', '', percent(tree.held)), ' of the probability: the rest would be other answers.');
  return card('tree-card', heading('Where they part', 'click a stretch to read on'), held, list);
}

// `choose(lane, index)` hears which cell of the heat map was clicked.
function makeSweepCard(setting, choose) {
  const figure = makeFigure('heat map: entropy of each token for each value of ' + settingLabel(setting) + '; the strips below have the same tokens', (point) => {
    const [row, column] = point.pointIndex || point.pointNumber;
    choose(row, column);
  });
  const element = card('sweep-card', heading('Entropy over ' + settingLabel(setting), 'amber edge: the text parts from the row above · click a cell to open its token'), figure.element);
  return { element, show: figure.show };
}
