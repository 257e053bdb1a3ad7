// The popover of a chip: the ten likeliest at that place.

function candidateRow(candidate, step, largest) {
  const row = el('div', 'candidate');
  row.dataset.id = candidate.id;
  row.classList.toggle('chosen', candidate.id === step.id);
  row.classList.toggle('cut', candidate.removedBy !== null);
  const bars = el('span', 'bars', bar('raw', candidate.prob / largest), bar('final', candidate.finalProb / largest));
  const outcome = candidate.removedBy === null ? el('b', 'final', percent(candidate.finalProb))
    : el('span', 'why', stageName(candidate.removedBy));
  row.append(tokenName(candidate.text, candidate.special), bars, el('span', 'raw', percent(candidate.prob)), outcome);
  row.title = 'id ' + candidate.id + ' · rank ' + count(candidate.rank) + ' · logit '
    + (candidate.logit === null ? '−∞' : candidate.logit.toFixed(3))
    + (candidate.removedBy === null ? '' : ' · ' + reasonOf(step, candidate));
  return row;
}

function othersRow(others, number, largest) {
  const bars = el('span', 'bars', bar('raw', others.prob / largest), bar('final', others.finalProb / largest));
  const row = el('div', 'others', el('span', 'name', 'everything else'), bars,
    el('span', 'raw', percent(others.prob)), el('b', 'final', percent(others.finalProb)));
  row.title = count(number) + ' tokens';
  return row;
}

function distribution(step, vocabulary, most) {
  const { rows, others } = likeliest(step, most);
  const largest = Math.max(...rows.map((row) => Math.max(row.prob, row.finalProb)), 1e-12);
  const shareOfOthers = Math.max(largest, others.prob);
  return [
    el('div', 'columns', el('span', '', 'token'), el('span', ''), el('span', 'raw', 'raw'), el('span', 'final', 'final')),
    ...rows.map((candidate) => candidateRow(candidate, step, largest)),
    othersRow(others, vocabulary - rows.length, shareOfOthers),
  ];
}

function popoverOf(token, vocabulary) {
  if (token.prompt) {
    const said = token.prob === null ? 'The first token: nothing stands before it.'
      : 'The model gave this token ' + percent(token.prob) + ', rank ' + count(token.rank) + ', given the text before it.';
    return [el('p', 'said', said), el('p', 'said faint', 'id ' + token.id + ' · bytes ' + spacedHex(token.hex))];
  }
  return distribution(token, vocabulary, 10);
}

// Puts the popover under the chip, or above it where there is more room.
function placePopover(popover, chip) {
  const box = chip.getBoundingClientRect();
  const width = popover.offsetWidth;
  const height = popover.offsetHeight;
  const left = Math.min(Math.max(8, box.left - 12), document.documentElement.clientWidth - width - 8);
  const below = box.bottom + 8;
  const top = below + height < window.innerHeight || box.top < height + 8 ? below : box.top - height - 8;
  popover.style.left = Math.max(8, left) + 'px';
  popover.style.top = top + 'px';
}
