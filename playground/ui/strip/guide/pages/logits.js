// Logits and softmax: from scores to probabilities.

// The step of the answer whose token the model gave least; null where there is no answer yet.
function oddestStep(steps) {
  return steps.reduce((least, step) => (least && least.prob <= step.prob ? least : step), null);
}

// The likeliest tokens of a step with `shift` added to every logit of the vocabulary.
function shiftedRows(step, shift) {
  const sum = Math.exp(step.logSumExp + shift - (step.candidates[0].logit + shift));
  return step.candidates.slice(0, 5).map((candidate) => {
    const weight = Math.exp(candidate.logit + shift - (step.candidates[0].logit + shift));
    return { candidate, logit: candidate.logit + shift, weight, prob: weight / sum };
  });
}

function makeShift(step) {
  const body = el('div', '');
  const show = (shift) => body.replaceChildren(scrollTable('guide-logits', 'from logits to probabilities', ['token', 'logit', 'exp(logit − largest)', 'probability'],
    shiftedRows(step, shift).map(({ candidate, logit, weight, prob }) => (
      tableRow(tokenName(candidate.text, candidate.special), signedNumber(logit), weight.toFixed(3), percent(prob))))));
  const settings = { id: 'guide-shift', min: -10, max: 10, step: 1, value: 0 };
  return [guideSlider(settings, (shift) => ['Added to every logit: ', el('b', '', signedNumber(shift, 0))], show), body];
}

const guideLogits = {
  name: 'logits', title: 'Scores become probabilities', nav: 'Logits and softmax',

  words: (run) => [
    ['What a pass gives is one number for each of the ', el('b', '', count(run.vocabulary)), ' tokens: its ', el('b', '', 'logit'), '. It can be negative or above one; only how far two logits lie apart has a meaning.'],
    [el('b', '', 'Softmax'), ' makes probabilities of them: e is raised to each logit, and each result is divided by their sum. So all are above zero, and together they make one. Of two tokens, the one whose logit is 1 higher is e ≈ 2.72 times as likely.'],
    ['The sum runs over the whole vocabulary, not over the few tokens a table has room for. Cutting the list first and computing afterwards would give other numbers.'],
  ],

  draw(run) {
    const step = oddestStep(run.steps);
    if (!step) return [el('p', 'caption', 'There is no answer yet: generate one on the Playground.')];
    return [
      el('h3', '', 'The least likely token of this answer'),
      el('p', 'caption', 'Token ' + count(step.index + 1) + ' of the answer, ', tokenName(step.text, step.special), ', had ', el('b', '', percent(step.prob)), '. These were the likeliest there:'),
      ...makeShift(step),
    ];
  },

  task: {
    words: 'On the Playground, select a token of the answer that the model gave 90% or more; if there is none, the likeliest. See in the inspector how little is left for the others.',
    tab: 'playground', light: '#strip .lanes', needsModel: false,
    done({ run, busy }) {
      if (!run || busy || !run.lanes[0].steps.length || !run.selected || run.selected.lane === 'prompt') return false;
      const { steps } = run.lanes[0];
      const chosen = steps[run.selected.index];
      return Boolean(chosen) && chosen.prob >= Math.min(0.9, Math.max(...steps.map((step) => step.prob)));
    },
  },

  question: {
    words: 'Add 5 to every logit. What happens to the probabilities? Move the slider and look.',
    choices: [
      { words: 'All of them rise.', right: false, why: 'They must still make one together, so they cannot all rise.' },
      { words: 'The likeliest gains most.', right: false, why: 'It would if every logit were doubled. Here the distance between any two stays what it was.' },
      { words: 'Nothing.', right: true, why: 'The same factor then stands above and below the line, and it cancels.' },
    ],
  },
};
