// Forgetting: what a model knows of a talk is what stands in the prompt.

const guideForgetting = {
  name: 'forgetting', title: 'It remembers only what it reads', nav: 'Forgetting',

  words: (run) => [
    ['The weights do not change while you talk. What a model knows of your conversation is what stands in its prompt, and nothing else: with each message ', el('b', '', 'the whole conversation'), ' goes in again, in the template.'],
    ['There is room for a fixed number of tokens, the ', el('b', '', 'context'), ...(run.context ? [': here ', el('b', '', count(run.context))] : []), ', answer included.'],
    'When a talk outgrows it, somebody has to leave something out or refuse; most services drop the oldest messages or sum them up. What was left out is gone for the model, and it cannot even tell that it was there. Long before that, what was said first may count for less.',
  ],

  draw(run) {
    const parts = partsBefore(run.tokens, run.given);
    const most = Math.max(...parts.map(([, tokens]) => tokens));
    const fits = turnsThatFit(parts, run.ids.length, run.context);
    return [
      el('h3', '', 'What the model reads before it answers'),
      ...parts.map(([name, tokens]) => guideOdds(name, tokens / most, count(tokens))),
      el('p', 'caption', plural(run.given, 'token') + ' in all. In a chat they go in again with the next message, and the answer with them.'),
      ...(run.context ? [
        el('h3', '', 'Room in the context'), guideOdds('used so far', run.ids.length / run.context, percent(run.ids.length / run.context)),
        el('p', 'caption', 'Prompt and answer have ' + count(run.ids.length) + ' of ' + plural(run.context, 'token') + '.'
          + (fits ? ' If every turn took as much as here, about ' + plural(fits, 'turn') + ' would fit.' : '')),
      ] : []),
    ];
  },

  task: {
    words: 'On the Labs tab, open the lab that asks whether a model learns from what it is told in a chat.',
    tab: 'labs', light: '#labs-list', needsModel: false,
    done: ({ find, tab }) => tab === 'labs' && Boolean(find('#labs-list [data-lab="frozen"][aria-current]:not([aria-current="false"])')),
  },

  question: {
    words: 'You tell a model your name, and open a new chat. Why does it not know it?',
    choices: [
      { words: 'The new prompt does not contain it.', right: true, why: 'Nothing was written into the weights. A service that does remember puts its notes into the prompt.' },
      { words: 'It was told to keep names secret.', right: false, why: 'There is nothing to keep: run the lab and see that the weights are the same, bit by bit.' },
      { words: 'It learns at night.', right: false, why: 'A later training may use old chats, but the model you talk to is not changed by talking.' },
    ],
  },
};
