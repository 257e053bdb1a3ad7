// Softmax as arithmetic, for the rows on show.

function softmaxTable(step, rows, vocabulary) {
  const { largest, sum, lines, rest } = softmaxOf(step, rows);
  const number = (value) => (value === -Infinity ? '−∞' : value.toFixed(3).replace('-', '−'));
  const small = (value) => (value === 0 ? '0' : value < 0.001 ? value.toExponential(1).replace('-', '−') : value.toFixed(4));
  const line = (name, ...cells) => el('tr', '', el('th', '', name), ...cells.map((cell) => el('td', '', cell)));
  const head = el('tr', '', ...['token', 'logit', '− largest', 'exp', '÷ sum'].map((text) => el('th', '', text)));
  const body = lines.map(({ candidate, below, weight, prob }) => {
    const logit = candidate.logit === null ? -Infinity : candidate.logit;
    return line(tokenName(candidate.text, candidate.special), number(logit), number(below), small(weight), percent(prob));
  });
  const last = line('everything else', '', '', small(rest), percent(rest / sum));
  last.className = 'rest';
  return [
    el('table', 'arithmetic', el('thead', '', head), el('tbody', '', ...body, last)),
    el('p', 'aside', 'The largest logit is ', el('b', '', number(largest)), '. Summed over all ', el('b', '', count(vocabulary)),
      ' tokens, exp comes to ', el('b', '', small(sum)), ': each exp divided by that is the raw probability.'),
  ];
}
