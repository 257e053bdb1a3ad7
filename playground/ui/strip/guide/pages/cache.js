// The KV cache: what is kept so that nothing is read twice.

// Tokens that all passes of an answer read, with the cache and without.
function readSums(given, steps) {
  const kept = given + Math.max(0, steps - 1);
  const anew = steps * given + steps * (steps - 1) / 2;
  return { kept, anew };
}

const guideCache = {
  name: 'cache', title: 'Nothing is read twice: the KV cache', nav: 'The KV cache',

  words: () => [
    ['A place looks back at the keys and values of those before it. Since these never change when more is written, they are computed once and kept: the ', el('b', '', 'KV cache'), '.'],
    ['So a decode pass reads ', el('b', '', 'one new token'), ', whatever stands before it. Without the cache it would have to read everything again for each token, and get the same numbers, up to rounding.'],
    'The price is memory. Every token adds its keys and values in every layer, and they stay at least until the answer ends. In a long talk, or with many people at once, they can take as much room as the weights, or more.',
  ],

  draw(run) {
    const last = run.steps[run.steps.length - 1];
    if (!last) return [el('p', 'caption', 'There is no answer yet: generate one on the Playground.')];
    const { kept, anew } = readSums(run.given, run.steps.length);
    const rows = [['with the cache', kept], ['without', anew]].map(([name, tokens]) => guideOdds(name, tokens / anew, count(tokens)));
    const held = last.kvLen ? [el('p', 'caption', 'At its last pass the cache held ', el('b', '', plural(last.kvLen, 'token')), ' in ', el('b', '', bytesize(last.kvBytes)),
      ': ', el('b', '', bytesize(last.kvBytes / last.kvLen)), ' for each.')] : [];
    return [
      el('h3', '', 'Tokens to read for this answer'), ...rows,
      el('p', 'caption', 'The prompt has ' + plural(run.given, 'token') + ', the answer ' + count(run.steps.length) + '. Without the cache, each pass reads all that is there by then.'),
      ...held,
    ];
  },

  task: {
    words: 'On the Inside tab, open “KV cache” and see what each message of this run takes.',
    tab: 'inside', light: '#inside-sections [data-section="cache"]', needsModel: true,
    done: ({ find }) => Boolean(find('.inside-panel[data-section="cache"][data-ready=true]:not([hidden])')),
  },

  question: {
    words: 'An answer is twice as long. What does the cache change about the number of tokens read?',
    choices: [
      { words: 'It grows by the new tokens, not with their square.', right: true, why: 'Each pass reads one token. Without the cache each pass reads all before it again. The Labs tab measures both.' },
      { words: 'Nothing: each pass reads everything anyway.', right: false, why: 'Compare the two bars of the picture: that is what it would be without the cache.' },
      { words: 'Nothing is read at all any more.', right: false, why: 'The newest token has no keys and values yet: it has to be read.' },
    ],
  },
};
