// Attention: which tokens before a place its state is mixed from.

// One head's weights at the end of the prompt, the largest first.
function attentionRows(look, run) {
  const order = look.weights.map((weight, position) => ({ weight, position })).sort((one, other) => other.weight - one.weight);
  return order.slice(0, 8).map(({ weight, position }) => {
    const token = run.tokens[position];
    return guideOdds(tokenName(token.name, token.special), weight, percent(weight));
  });
}

const guideAttention = {
  name: 'attention', title: 'Each place looks back at the others', nav: 'Attention',

  words: () => [
    ['An embedding knows nothing of its neighbours. In ', el('b', '', 'attention'), ' each place makes a query from its state, and every place up to it offers a key. How well the two fit is a score; softmax turns the scores into weights that sum to one.'],
    ['By these weights the places’ values are mixed into the state that goes on. A layer does this in several ', el('b', '', 'heads'), ' side by side, each with queries of its own; keys and values may be shared by several heads. A model has many layers.'],
    ['A place never sees what comes after it: those scores are masked. So reading on changes nothing of what was read, and that is why it can be kept.'],
  ],

  draw(run, guide) {
    const row = guide.slot({
      waits: () => 'Reading one head …',
      draw: ({ look }, { position }) => [
        el('p', 'caption', position === run.given - 1 ? 'From the last token of the prompt, ' : 'From the last token of the prompt that a look reaches, ',
          tokenName(run.tokens[position].name, run.tokens[position].special), position === run.given - 1 ? ', where the answer begins: the largest weights of head ' : ': the largest weights of head ', count(look.head + 1) + ' in layer ' + count(look.layer + 1) + '.'),
        ...attentionRows(look, run),
        el('p', 'caption', 'Many heads put much of their weight on the very first token: they have little to fetch, and weights must sum to one.'),
      ],
    });
    const shape = guide.slot({
      waits: () => 'Asking what the model is made of …',
      draw({ look, bound }) {
        row.ask({ what: 'row', ids: run.ids, position: Math.min(run.given, bound || Infinity) - 1, layer: Math.floor(look.layers / 2), head: 0 });
        return [el('p', 'caption', 'This model has ', el('b', '', plural(look.layers, 'layer')), ' with ', el('b', '', plural(look.heads, 'head')), ' each. Here is one of them.')];
      },
    });
    shape.ask({ what: 'shape' });
    return [el('h3', '', 'One head, one row'), shape.element, row.element];
  },

  task: {
    words: 'On the Inside tab, open “Attention” and see all heads of all layers at a glance.',
    tab: 'inside', light: '#inside-sections [data-section="attention"]', needsModel: true,
    done: ({ find }) => Boolean(find('.inside-panel[data-section="attention"][data-ready=true]:not([hidden])')),
  },

  question: {
    words: 'In “Rome is old”, which places can the state of “is” take something from?',
    choices: [
      { words: 'All three.', right: false, why: 'What comes after it is masked. Select a token on the Inside tab: its row ends at itself.' },
      { words: '“Rome” and “is” itself.', right: true, why: 'A place sees those before it and itself, in every layer.' },
      { words: '“Rome” alone.', right: false, why: 'Its own key takes part as well: the last entry of its row is itself.' },
    ],
  },
};
