// The tree of forks: one line per branch, drawn to the same scale, walked by click and by arrow keys.

const ROW_HEIGHT = 30; // pixels, as in runs.css

function branchName(branches, branch) {
  const departure = departureOf(branches, branch);
  if (!departure) return [el('b', '', 'first run')];
  const { at, was, is, more } = departure;
  const parts = [el('small', '', count(at)), ' '];
  if (was !== null) parts.push(tokenName(was), ' → ');
  parts.push(...is.map((text) => tokenName(text)), more ? '…' : '');
  return parts;
}

function branchState(branch, going) {
  if (branch.end) return REASONS[branch.end.reason] || branch.end.reason;
  return branch.paused || !going ? 'paused' : 'writing';
}

function branchRow({ branch, depth, row, above }, run, longest) {
  const label = el('span', 'from', ...branchName(run.branches, branch));
  label.style.paddingLeft = Math.min(depth, 6) * 12 + 'px';
  const track = el('span', 'track');
  const place = (part, from, to) => {
    part.style.left = from / longest * 100 + '%';
    part.style.width = Math.max(0, to - from) / longest * 100 + '%';
    return part;
  };
  if (branch.at) track.append(place(el('i', 'common'), 0, branch.at));
  track.append(place(el('i', 'own'), branch.at, branch.steps.length));
  if (above !== null) {
    const stem = place(el('i', 'stem'), branch.at, branch.at);
    stem.style.height = (row - above) * ROW_HEIGHT + 'px';
    track.append(stem);
  }
  const state = branchState(branch, branch === run.going);
  const element = el('div', 'fork', label, track, el('span', 'length', el('b', '', count(branch.steps.length)), ' · ' + state));
  element.dataset.node = branch.node;
  element.setAttribute('role', 'treeitem');
  element.setAttribute('aria-level', depth + 1);
  const shown = branch === run.lanes[0];
  element.setAttribute('aria-selected', String(shown));
  element.tabIndex = shown ? 0 : -1;
  return element;
}

function drawTree(tree, run) {
  const drawn = run && run.branches && run.branches.length > 1;
  tree.parentElement.hidden = !drawn;
  if (!drawn) return;
  const focused = tree.contains(document.activeElement);
  const longest = Math.max(...run.branches.map((branch) => branch.steps.length), 1);
  tree.replaceChildren(...treeRows(run.branches).map((row) => branchRow(row, run, longest)));
  if (focused) tree.querySelector('[aria-selected="true"]').focus({ preventScroll: true });
}

// `choose` shows a branch by its number.
function startTree(choose) {
  const tree = el('div', 'forks');
  tree.setAttribute('role', 'tree');
  tree.setAttribute('aria-label', 'forks of this run');
  const help = el('span', 'aside', '↑ ↓ to walk');
  const element = el('div', 'grove', el('div', 'heading', el('h2', '', 'Forks'), help), tree);
  element.hidden = true;
  tree.addEventListener('click', (event) => {
    const row = event.target.closest('.fork');
    if (!row) return;
    choose(Number(row.dataset.node));
    tree.querySelector('[aria-selected="true"]').focus({ preventScroll: true });
  });
  tree.addEventListener('keydown', (event) => {
    const rows = [...tree.querySelectorAll('.fork')];
    const at = rows.indexOf(event.target.closest('.fork'));
    const goals = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 };
    if (at < 0 || !(event.key in goals)) return;
    event.preventDefault();
    event.stopPropagation();
    const goal = rows[Math.min(rows.length - 1, Math.max(0, goals[event.key]))];
    choose(Number(goal.dataset.node));
    tree.querySelector('[aria-selected="true"]').focus({ preventScroll: true });
  });
  return { element, tree };
}
