// Prefill and decode: why the first token takes longest, and each one after it about the same.

const PASSES_SHOWN = 8;

function medianOf(numbers) {
  const sorted = [...numbers].sort((one, other) => one - other);
  const middle = sorted.length / 2;
  return (sorted[Math.ceil(middle) - 1] + sorted[Math.floor(middle)]) / 2;
}

// One row per pass, named by what it reads.
function passTimes(run) {
  const { prefill } = guidePassesOf(run);
  const decodes = run.steps.slice(1).filter((step) => step.forward > 0).slice(0, PASSES_SHOWN - 1);
  const rows = [...(prefill.time ? [['the prompt', prefill.time]] : []), ...decodes.map((step) => ['token ' + count(step.index), step.forward])];
  const longest = Math.max(...rows.map(([, time]) => time));
  return rows.map(([name, time]) => guideOdds(name, time / longest, milliseconds(time)));
}

const guidePasses = {
  name: 'passes', title: 'Reading is one pass, writing is many', nav: 'Prefill and decode',

  words(run) {
    const { read, written } = spentOf(guidePassesOf(run));
    const each = medianOf(run.steps.slice(1).map((step) => step.forward).filter((time) => time > 0));
    return [
      ['The tokens of a prompt are all known, so the model can work on them side by side. That pass is called ', el('b', '', 'prefill'), '. Every pass after it makes one token and is called ', el('b', '', 'decode'), ': the next token cannot be begun before the last one is picked.'],
      ...(read.passes && written.passes ? [[
        'Here the prompt’s pass took ', el('b', '', milliseconds(read.time)), ' for ', el('b', '', plural(read.tokens, 'token')), read.tokens < run.given ? ', the others being kept from before' : '',
        '. A pass for one token took ', el('b', '', milliseconds(each)), ', the median of all.',
      ]] : []),
      'In most models a pass over one token needs nearly all of the weights, as a pass over a hundred does. So reading is cheaper by the token, and the wait for the first token grows with the prompt, while the wait between tokens hardly does.',
    ];
  },

  draw: (run) => (run.steps.length ? [
    el('h3', '', 'Time of each pass'), ...passTimes(run),
    ...(passTimes(run).length ? [] : [el('p', 'caption', 'No pass was needed: all tokens were known from before.')]),
    el('p', 'caption', 'Named by what the pass reads. A prompt that was read before may be kept: then its pass has less to read. Times are of the machine that made this run.'),
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
      { words: 'A larger limit for the answer.', right: false, why: 'The limit is only looked at when it is reached. Change “Most new tokens” and generate again.' },
      { words: 'A higher temperature.', right: false, why: 'It changes a division after the pass. The passes stay the same: try it.' },
    ],
  },
};
