// What the rows of watched tokens show. Pure.

const WATCH_FLOOR = 1e-6; // the lowest probability that the curve tells apart

// Probability and rank of a token at the steps from `from` on; null where it was not recorded.
function watchedValues(steps, id, from) {
  return steps.slice(from).map((step) => {
    const found = step.candidates.find((candidate) => candidate.id === id);
    return found ? { prob: found.prob, finalProb: found.finalProb, rank: found.rank } : null;
  });
}

// The curve as an SVG path from step `from` on, one unit a step, 0 (certain) to 20 (the floor or less).
function watchedPath(values, from) {
  return values.slice(from).map((value, i) => {
    if (!value) return '';
    const y = 20 * Math.log(Math.max(value.prob, WATCH_FLOOR)) / Math.log(WATCH_FLOOR);
    const begins = from + i === 0 || !values[from + i - 1];
    return (begins ? 'M' : 'L') + (from + i) + ' ' + (y + 1).toFixed(2);
  }).join('');
}
