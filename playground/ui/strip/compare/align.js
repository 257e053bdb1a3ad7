// Where the answers of two lanes part: by ids, each token in its own place. Pure.

// How many first tokens two answers share, and the place at which they part: null while they do not. What is
// known already (`from`) is not looked at again, so that a stream of tokens costs nothing.
function alignTo(reference, steps, from = 0) {
  const both = Math.min(reference.length, steps.length);
  let shared = Math.min(from, both);
  while (shared < both && reference[shared].id === steps[shared].id) shared += 1;
  return { shared, parts: shared < both ? shared : null };
}

// `ended`: both answers are over.
function alignmentWords({ shared, parts }, ended, lengths) {
  if (parts !== null) return 'parts at token ' + count(parts + 1);
  if (!lengths[0] || !lengths[1]) return '';
  if (!ended) return 'the same so far';
  return lengths[0] === lengths[1] ? 'the same answer' : 'the same for ' + count(shared) + ' tokens';
}
