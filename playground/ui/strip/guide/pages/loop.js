// The loop: what was picked goes in with all the rest, for good.

const LOOPS_SHOWN = 60;

function loopRows(run) {
  const passes = guidePassesOf(run);
  const shown = run.steps.slice(0, LOOPS_SHOWN);
  const most = run.given + shown.length - 1;
  return shown.map((step, place) => {
    const { pass, prob, how } = loopRow(run.given, run.steps, place, passes);
    return tableRow(pass, guideParts([['given', run.given / most], ['picked', place / most]]), count(run.given + place),
      tokenName(step.text, step.special), prob + (how === 'forced' ? ', by hand' : ''));
  });
}

const guideLoop = {
  name: 'loop', title: 'Append it, and run again', nav: 'The loop',

  words: (run) => [
    ['A pass gives odds for one place. The sampler picks a token, the program ', el('b', '', 'appends it to the row'), ', and the longer row is the input of the next pass. The model knows nothing else of what it wrote: its own words come back to it as yours do.'],
    ['What was appended ', el('b', '', 'stays'), '. The model cannot take a token back. It can only go on from the row, poor tokens included; if it is to correct itself, then in words that come later.'],
    ['Nor does anything later reach back: a place sees only what stands before it, so its keys and values, and the odds it gave, remain as they were. To try another token, somebody has to cut the row there and have it written anew: a ', el('b', '', 'fork'), '.'],
    ...(run.steps.length > 1 ? [['In this run the row had ', el('b', '', plural(run.given, 'token')), ' at the first pass and ', el('b', '', count(run.given + run.steps.length - 1)), ' at the last.']] : []),
  ],

  draw(run) {
    if (!run.steps.length) return [el('p', 'caption', 'There is no answer yet: generate one on the Playground.')];
    const left = run.steps.length - LOOPS_SHOWN;
    const given = run.steps.some((step, place) => place > 0 && !(step.forward > 0));
    return [
      el('h3', '', 'The row, pass by pass'),
      scrollTable('guide-loop picks', 'what went into each pass and what was picked', ['pass', 'the row', 'tokens', 'picked', 'probability'], loopRows(run)),
      el('p', 'caption', guideKey('given', 'the prompt'), guideKey('picked', 'what was picked and appended')),
      el('p', 'caption', 'The probability is the model’s own, before temperature and filters.'
        + (given ? ' A line without a number had no pass of its own: tokens that are given are read together.' : '') + (left > 0 ? ' The answer has ' + plural(left, 'token') + ' more.' : '')),
    ];
  },

  task: {
    words: 'On the Playground, select a token of the answer, and in the inspector click another candidate. What stood before it stays, all after it is written anew.',
    tab: 'playground', light: '#strip .lanes', needsModel: true,
    begin: ({ run }) => run?.lanes[0],
    done({ run, busy, begun }) {
      const lane = run?.lanes[0];
      return Boolean(lane) && !busy && lane !== begun && lane.kind === 'fork' && lane.steps.length > lane.at;
    },
  },

  question: {
    words: 'The odds were good for “Paris”, but the dice fell on “Lyon”. What can the model do about it?',
    choices: [
      { words: 'Take “Lyon” back and pick again.', right: false, why: 'No pass takes a token out of the row. You can, by a fork, and that makes another row.' },
      { words: 'Lower its odds in hindsight, so that it counts less.', right: false, why: 'That place never sees what comes after it. Fork late in the answer: the tokens before keep their numbers.' },
      { words: 'Go on from it, and at best put it right in words.', right: true, why: '“Lyon” is now in the input like all the rest. Often the text just goes on to fit it: the lab “One bad token” counts how often an answer recovers.' },
    ],
  },
};
