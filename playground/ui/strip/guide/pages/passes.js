// Prefill and decode: why the first token takes longest, and each one after it about the same.

const PASSES_SHOWN = 8;

function middleOf(numbers) {
  const sorted = [...numbers].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)];
}

function passTimes(run) {
  const longest = Math.max(...run.steps.slice(0, PASSES_SHOWN).map((step) => step.forward));
  return run.steps.slice(0, PASSES_SHOWN).map((step, place) => {
    const first = place === 0;
    return guideOdds(first ? 'prompt' : 'token ' + count(place), longest ? step.forward / longest : 0, milliseconds(step.forward), first);
  });
}

const guidePasses = {
  name: 'passes', title: 'Reading is one pass, writing is many', nav: 'Prefill and decode',

  words(run) {
    const [first, ...later] = run.steps;
    const each = later.length ? middleOf(later.map((step) => step.forward)) : null;
    return [
      ['The tokens of a prompt are all known, so the model can work on them side by side. That pass is called ', el('b', '', 'prefill'), '. Every pass after it makes one token and is called ', el('b', '', 'decode'), ': the next token cannot be begun before the last one is picked.'],
      ...(first && each !== null ? [[
        'Here the prompt’s pass took ', el('b', '', milliseconds(first.forward)), ' for what had to be read of ', el('b', '', plural(run.given, 'token')), ', and a later pass ', el('b', '', milliseconds(each)), ' for one, in the middle of all.',
      ]] : []),
      'A pass over one token needs nearly all of the weights, as a pass over a hundred does. So reading is cheaper by the token, and the wait for the first token grows with the prompt, while the wait between tokens hardly does.',
    ];
  },

  draw: (run) => (run.steps.length ? [
    el('h3', '', 'Time of each pass'), ...passTimes(run),
    el('p', 'caption', 'A prompt that was read before may be kept: then its pass has less to read. Times are of the machine that made this run.'),
  ] : [el('p', 'caption', 'There is no answer yet: generate one on the Playground.')]),

  task: {
    words: 'On the Playground, ask again with a prompt of at least twice as many tokens. Then compare the first pass with the one before.',
    tab: 'playground', light: '#prompt', needsModel: true,
    begin: ({ run }) => ({ run, given: run ? run.prompt.length : 0 }),
    done: ({ run, busy, begun }) => Boolean(run) && !busy && run !== begun.run && run.prompt.length >= 2 * begun.given && run.lanes[0].steps.length > 0,
  },

  question: {
    words: 'What makes you wait longer for the first token?',
    choices: [
      { words: 'A longer prompt.', right: true, why: 'All of it is read before the first token can be picked.' },
      { words: 'A larger limit for the answer.', right: false, why: 'The limit is only looked at when it is reached. Change max tokens and generate again.' },
      { words: 'A higher temperature.', right: false, why: 'It changes a division after the pass. The passes stay the same: try it.' },
    ],
  },
};
