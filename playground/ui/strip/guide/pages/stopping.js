// Stopping: an end token, a limit, or a string.

const ENDS_SHOWN = 8;

// The steps that were likeliest to end the answer, in reading order.
function likelyEnds(steps) {
  return [...steps].sort((one, other) => other.endProb - one.endProb).slice(0, ENDS_SHOWN).sort((one, other) => one.index - other.index);
}

function endRows(run) {
  return likelyEnds(run.steps).map((step) => {
    const at = run.given + run.steps.indexOf(step);
    const before = run.tokens.slice(Math.max(0, at - 2), at).map((token) => token.name).join('');
    return tableRow(tokenName(before), el('span', 'mini', bar('', step.endProb)), percent(step.endProb), tokenName(step.text, step.special));
  });
}

const guideStopping = {
  name: 'stopping', title: 'How it knows when to stop', nav: 'Stopping',

  words: (run) => [
    ['The length is not fixed beforehand. Some tokens of the list mean “the end”, and at every step they have a probability like all others. When one is picked, the loop stops.'],
    ['Other things can stop it from outside: a ', el('b', '', 'limit'), ' on new tokens, which may cut in the middle of a sentence, a ', el('b', '', 'stop string'), ' that the program looks for in the text, and you, by Stop. The model knows of none of them.'],
    ...(run.end ? [['This answer: ', el('b', '', run.end.message)]] : []),
  ],

  draw: (run) => (run.steps.length ? [
    el('h3', '', 'Where this answer was likeliest to end'),
    scrollTable('guide-ends', 'chance to end at some steps of the answer', ['after', '', 'chance to end', 'what came'], endRows(run)),
    el('p', 'caption', 'All end tokens together, before temperature and filters. The inspector tells it for every step.'),
  ] : [el('p', 'caption', 'There is no answer yet: generate one on the Playground.')]),

  task: {
    words: 'On the Playground, set “Most new tokens” to 3 and generate. The answer is cut, whatever it was about to say.',
    tab: 'playground', light: ({ find }) => (find('#max-tokens input[type=number]')?.value === '3' ? '#generate' : '#max-tokens'), needsModel: true,
    begin: ({ run }) => run,
    done: ({ run, busy, begun }) => Boolean(run) && !busy && run !== begun && run.lanes[0].steps.length <= 3 && run.lanes[0].end?.reason === 'max_tokens',
  },

  question: {
    words: 'You lower “Most new tokens”. What changes in the tokens that are still written?',
    choices: [
      { words: 'They are chosen to fit the limit.', right: false, why: 'Nothing tells the model about the limit. Generate with the same seed and compare the first tokens.' },
      { words: 'Nothing: the same come, fewer of them.', right: true, why: 'With the same settings and seed, the answer is the same until it is cut.' },
      { words: 'The end token becomes likelier.', right: false, why: 'Its probability comes from the text before it alone. Look at the chance to end in the inspector.' },
    ],
  },
};
