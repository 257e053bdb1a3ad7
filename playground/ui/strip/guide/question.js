// The question at the end of a page of the guide: three answers, each of which says why it holds or not.

// `question`: {words, choices: [{words, right, why}]}, filled for the run; `told()` hears of the right answer.
function makeGuideQuestion({ words, choices }, answered, told) {
  const why = el('p', 'guide-why');
  why.setAttribute('role', 'status');
  const buttons = choices.map((choice, place) => {
    const made = button('guide-choice', '');
    made.append(...[].concat(choice.words));
    made.dataset.place = place;
    made.addEventListener('click', () => choose(place));
    return made;
  });
  const element = el('section', 'guide-question', el('h3', '', 'A question'), el('p', '', ...[].concat(words)), el('div', 'guide-choices', ...buttons), why);
  element.setAttribute('aria-label', 'a question');

  function choose(place) {
    const { right, why: reason } = choices[place];
    element.dataset.answered = right ? 'right' : 'wrong';
    buttons.forEach((each, other) => { each.setAttribute('aria-pressed', String(other === place)); });
    why.replaceChildren(el('b', '', right ? 'Yes. ' : 'No. '), ...[].concat(reason), right ? '' : ' Try again.');
    if (right) told();
  }

  if (answered) choose(choices.findIndex((choice) => choice.right));
  return element;
}
