// Any token of the vocabulary at this step, by its text or its id.

const FOUND = { id: 'by id', text: 'as typed', space: 'with a space before' };

function makeFinder(asked, prefix) {
  const input = el('input');
  Object.assign(input, { type: 'search', id: prefix + 'find-token', placeholder: 'any token: its text or id', maxLength: 200, autocomplete: 'off', spellcheck: false });
  input.setAttribute('aria-label', 'find any token at this step, by text or id');
  const rows = el('div', 'found');
  rows.setAttribute('aria-live', 'polite');
  let timer = 0;
  input.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => asked(input.value), 150);
  });
  return {
    element: el('div', 'finder', input, rows),
    text: () => input.value,
    tell(problem) { rows.replaceChildren(el('p', 'said', problem)); },
    clear() { rows.replaceChildren(); },
    show(step, found, run) {
      const largest = Math.max(...step.candidates.map((candidate) => Math.max(candidate.prob, candidate.finalProb)), 1e-12);
      rows.replaceChildren(...found.map(({ id, how, more }) => {
        const candidate = step.candidates.find((each) => each.id === id);
        if (!candidate) return null;
        const tail = more ? ', first of ' + (more + 1) + ' tokens' : '';
        const logit = candidate.logit === null ? '−∞' : candidate.logit.toFixed(3).replace('-', '−');
        return el('div', 'find', candidateRow(candidate, step, largest, run),
          el('p', 'reason', FOUND[how] + tail + ' · id ' + id + ' · rank ' + count(candidate.rank) + ' · logit ' + logit),
          candidate.removedBy === null ? null : el('p', 'reason', stageName(candidate.removedBy) + ': ' + reasonOf(step, candidate)));
      }).filter(Boolean));
    },
  };
}
