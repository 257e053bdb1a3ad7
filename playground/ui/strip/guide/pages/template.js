// The template: what is wrapped around the words before a model sees them.

// Characters of the prompt by who wrote them: [[name, characters, added]…], in reading order of the first of each.
function writtenBy(run) {
  const sums = new Map();
  run.prompt.forEach((token) => {
    const [kind, added] = run.segments[token.segment];
    const name = added || kind === 'template' || kind === 'generation_prompt' ? 'the template' : BLOCKS[kind] || kind;
    sums.set(name, (sums.get(name) || 0) + 1);
  });
  return [...sums];
}

function templateShare(run) {
  const [, tokens] = writtenBy(run).find(([name]) => name === 'the template') || [];
  return tokens ? ['In this run the template put ', el('b', '', count(tokens)), ' of the ', el('b', '', plural(run.given, 'token')), ' there.'] : ['This run was raw text: no template wrote any of it.'];
}

const guideTemplate = {
  name: 'template', title: 'Wrap it up: the chat template', nav: 'The template',

  words: (run) => [
    ['A model reads one row of tokens and nothing else. It has no chat window, no sender and no fields. A ', el('b', '', 'chat template'), ' writes all of that into the row: who speaks, where each message ends, and whose turn it is.'],
    ['Most of its marks are ', el('b', '', 'special tokens'), '. Each is a single id, set apart from ordinary words; the model met them in training and learned what follows them. ', ...templateShare(run)],
    ['Some templates also add a system message when you write none. The last thing they add opens the answer’s turn: the ', el('b', '', 'generation prompt'), '. From there the model simply goes on writing.'],
  ],

  draw(run) {
    const sums = writtenBy(run);
    const strip = el('div', 'prompt-strip', ...makePrompt(run.segments, run.prompt, []).elements);
    strip.querySelectorAll('.token').forEach((chip) => {
      chip.removeAttribute('role');
      chip.removeAttribute('aria-selected');
      chip.removeAttribute('tabindex');
    });
    strip.tabIndex = 0;
    strip.setAttribute('role', 'region');
    strip.setAttribute('aria-label', 'the prompt as the model reads it');
    return [
      el('p', 'caption', 'The prompt of this run, as the model reads it. Violet is what the template or its marks are.'), strip,
      scrollTable('guide-sums', 'tokens by who wrote them', ['written by', '', 'tokens'],
        sums.map(([name, tokens]) => tableRow(name, el('span', 'mini', bar('', tokens / run.given)), count(tokens)))),
    ];
  },

  task: {
    words: 'On the Prompt tab, set the template to “None (raw text)” and see what is left of the messages.',
    tab: 'prompt', light: '#template', needsModel: true,
    done: ({ find }) => find('#template')?.value === 'none' && find('[data-rendered]')?.dataset.rendered === 'none',
  },

  question: {
    words: 'How does the model know which words are yours and which are its own?',
    choices: [
      { words: 'Each token carries the name of its speaker.', right: false, why: 'A token is an id and a position. Point at any on the Prompt tab: there is no speaker in it.' },
      { words: 'You and the model have separate inputs.', right: false, why: 'There is one input. Your words and its answer stand in the same row.' },
      { words: 'Only by the marks in the row itself.', right: true, why: 'Without the template the marks are gone, and who speaks can only be guessed from the wording.' },
    ],
  },
};
