// The tree of forks: one line per branch, drawn to the same scale, walked by click and by arrow keys. Runs with
// another prompt are roots of their own.

const ROW_HEIGHT = 30; // pixels, as in hand.css
const MOST_NAMED = 4; // tokens of a change

function someNames(tokens) {
  const names = tokens.slice(0, MOST_NAMED).map((token) => tokenName(promptTokenName(token), token.special));
  return tokens.length > MOST_NAMED ? [...names, '…'] : names.length ? names : ['–'];
}

function rootName(run) {
  if (!run.from) return [el('b', '', 'first run')];
  if (!run.prompt.length) return [el('b', '', 'another prompt')];
  const { at, was, is } = promptChange(run.from.prompt, run.prompt);
  if (!was.length && !is.length) return [el('b', '', 'same prompt')];
  return [el('small', '', 'prompt ' + count(at + 1)), ' ', ...someNames(was), ' → ', ...someNames(is)];
}

function branchName(run, branch) {
  const departure = departureOf(run.branches, branch);
  if (!departure) return rootName(run);
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

// `shown`: the branch on the screen.
function branchRow({ branch, depth, row, above }, run, longest, shown) {
  const label = el('span', 'from', ...branchName(run, branch));
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
  element.dataset.root = run.grove.indexOf(run);
  element.dataset.node = branch.node;
  element.setAttribute('role', 'treeitem');
  element.setAttribute('aria-level', depth + 1);
  element.setAttribute('aria-selected', String(branch === shown));
  element.tabIndex = branch === shown ? 0 : -1;
  return element;
}

function drawTree(tree, run) {
  const branches = run && run.grove ? run.grove.flatMap((root) => root.branches) : [];
  tree.parentElement.hidden = branches.length < 2;
  if (branches.length < 2) return;
  const focused = tree.contains(document.activeElement);
  const longest = Math.max(...branches.map((branch) => branch.steps.length), 1);
  tree.replaceChildren(...run.grove.flatMap((root) => (
    treeRows(root.branches).map((row) => branchRow(row, root, longest, run.lanes[0])))));
  if (focused) tree.querySelector('[aria-selected="true"]').focus({ preventScroll: true });
}

// `choose(root, node)` shows a branch by the places of its run and its own.
function startTree(choose) {
  const tree = el('div', 'forks');
  tree.setAttribute('role', 'tree');
  tree.setAttribute('aria-label', 'forks of this run');
  const help = el('span', 'aside', '↑ ↓ to walk');
  const element = el('div', 'grove', el('div', 'heading', el('h2', '', 'Forks'), help), tree);
  element.hidden = true;
  const go = (row) => {
    choose(Number(row.dataset.root), Number(row.dataset.node));
    tree.querySelector('[aria-selected="true"]').focus({ preventScroll: true });
  };
  tree.addEventListener('click', (event) => {
    const row = event.target.closest('.fork');
    if (row) go(row);
  });
  tree.addEventListener('keydown', (event) => {
    const rows = [...tree.querySelectorAll('.fork')];
    const at = rows.indexOf(event.target.closest('.fork'));
    const goals = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 };
    if (at < 0 || !(event.key in goals)) return;
    event.preventDefault();
    event.stopPropagation();
    go(rows[Math.min(rows.length - 1, Math.max(0, goals[event.key]))]);
  });
  return { element, tree };
}
