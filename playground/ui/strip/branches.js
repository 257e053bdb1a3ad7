// A run and its forks. Each branch is a lane of its own that shares the step records before its departure
// with its parent, by reference; the run shows one of them. Runs whose prompt was changed out of one another
// share a grove. Pure but for the chips that lanes make.

const OPEN_ENDS = ['stopped', 'max_tokens']; // ends after which a run can go on

// `from`: the run whose prompt was changed to make this one, or null.
function startBranches(run, params, from) {
  run.from = from;
  run.grove = from ? from.grove : [];
  run.grove.push(run);
  if (from && from.going && !from.going.end) from.going.paused = true;
  run.params = params || null;
  run.tape = run.recorded; // of a run that was shipped, not made: true of its first branch alone
  const [root] = run.lanes;
  Object.assign(root, { node: 0, parent: null, at: 0, given: [], kind: 'run', params: run.params, paused: false });
  run.branches = [root];
  run.going = root; // the one that operations speak of
}

function goingLane(run, index) {
  return index === 0 ? run.going : run.lanes[index];
}

// Settings that make another distribution or other dice; how long an answer may be does not.
function sameSettings(one, other) {
  const core = (params) => JSON.stringify({ ...params, max_tokens: 0, seed: String(params.seed) });
  return Boolean(one && other) && core(one) === core(other);
}

// Who really stands at a departure: a branch that is cut before its own first token parts from its parent.
function parentAt(branches, node, at) {
  let from = branches[node];
  while (from.parent !== null && at <= from.at) from = branches[from.parent];
  return from;
}

// The run goes on from `op.node`, in the same branch if nothing of it is lost, else in a new one.
// Returns the lane that goes on.
function openBranch(run, op, mode) {
  const from = run.branches[op.node];
  const steps = from.steps.slice(0, op.at);
  const last = steps[op.at - 1];
  if (last && decode(unhex(last.hex)) !== op.text) steps[op.at - 1] = { ...last, released: op.text };
  else if (last && last.released !== undefined) steps[op.at - 1] = { ...last, released: undefined };
  const reader = steps.length ? from.reader || from.end || {} : undefined; // whose prefill read the prompt
  const asked = op.kind === 'step' || op.kind === 'play' || op.at >= from.steps.length;
  let lane = from;
  if (asked && sameSettings(from.params, op.params)) {
    cutLane(lane, 0);
    if (!lane.node) run.tape = undefined;
  } else {
    if (!from.end) from.paused = true;
    lane = makeLane(0);
    const parent = parentAt(run.branches, op.node, op.at);
    Object.assign(lane, { node: run.branches.length, parent: parent.node, at: op.at, given: op.given, kind: op.kind });
    run.branches.push(lane);
  }
  Object.assign(lane, { paused: false, params: op.params, reader, due: { at: op.at, ids: op.given.map(([id]) => id) } });
  run.book = { texts: {}, names: [] }; // the server tells texts and names anew
  run.going = run.lanes[0] = lane;
  run.recorded = lane.node ? undefined : run.tape;
  run.params = op.params;
  run.follow = true;
  unmark(run);
  extendLane(lane, steps, mode);
  for (const chip of lane.chips.slice(0, lane.at)) chip.classList.add('shared');
  return lane;
}

function showBranch(run, lane) {
  run.lanes[0] = lane;
  run.recorded = lane.node ? undefined : run.tape;
  run.params = lane.params;
  run.follow = lane === run.going && !lane.end && !lane.paused;
  const { selected } = run;
  if (selected && selected.lane !== 'prompt') unmark(run);
  const index = selected && selected.lane !== 'prompt' ? Math.min(selected.index, lane.steps.length - 1) : -1;
  return index >= 0 ? { lane: 0, index } : null; // what to select in it
}

// What to select when a run has ended: of a fork the token that it began with.
function restingPlace(lane) {
  return lane.parent === null ? mostSurprising(lane.steps) : Math.min(lane.at, lane.steps.length - 1);
}

// Ids that are forced on a lane and had not come yet when it was paused or stopped.
function idsDue({ steps, due }) {
  return due ? due.ids.slice(steps.length - due.at) : [];
}

function canGoOn(lane) {
  return Boolean(lane) && (lane.steps.length > 0 || idsDue(lane).length > 0) && (!lane.end || OPEN_ENDS.includes(lane.end.reason));
}

// Rows of the drawn tree, children under their parents, in the order they were made.
function treeRows(branches) {
  const rows = [];
  const add = (branch, depth, above) => {
    const row = rows.length;
    rows.push({ branch, depth, row, above });
    for (const child of branches) if (child.parent === branch.node) add(child, depth + 1, row);
  };
  add(branches[0], 0, null);
  return rows;
}

// A token of the prompt in its visible form, as tokens of the answer come.
function promptTokenName(token) {
  const [piece] = piecesOf([token]);
  if (piece.broken || piece.part !== undefined) return '‹' + spacedHex(token.hex) + '›';
  return flowing(piece.text).replace(/^ | $/g, '␣') || '‹id ' + token.id + '›';
}

// Greys what a prompt shares with the one that it was changed from.
function greyShared(run) {
  if (!run.from) return;
  const { at } = promptChange(run.from.prompt, run.prompt);
  for (const chip of run.promptChips.slice(0, at)) chip.classList.add('shared');
}

// Where a prompt first differs from the one it was changed from, and the tokens there: {at, was, is}. Ids that
// both end with are no change.
function promptChange(before, after) {
  const shorter = Math.min(before.length, after.length);
  let at = 0;
  while (at < shorter && before[at].id === after[at].id) at += 1;
  let tail = 0;
  while (tail < shorter - at && before[before.length - 1 - tail].id === after[after.length - 1 - tail].id) tail += 1;
  return { at, was: before.slice(at, before.length - tail), is: after.slice(at, after.length - tail) };
}

// Who wrote which of these prompt tokens, as an order has it: [[kind, added by the template, length]].
function partsOf(segments, tokens) {
  const parts = [];
  let last = null;
  for (const { segment } of tokens) {
    if (segment === last) parts[parts.length - 1][2] += 1;
    else parts.push([...segments[segment], 1]);
    last = segment;
  }
  return parts;
}

// What a branch put in place of what, in words: {at, was, is}.
function departureOf(branches, branch) {
  if (branch.parent === null) return null;
  const was = branches[branch.parent].steps[branch.at];
  const first = branch.given.length ? branch.given : branch.steps.slice(branch.at, branch.at + 1).map((step) => [step.id, step.text]);
  return { at: branch.at + 1, was: was ? was.text : null, is: first.slice(0, 4).map(([, text]) => text), more: first.length > 4 };
}
