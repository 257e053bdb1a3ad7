// Tokens: text as a row of ids.

const TYPED_ROWS = 12; // tokens of the question in the table

function tokenRows(tokens, run) {
  return tokens.map((token) => {
    const hex = token.prompt ? run.prompt[token.place].hex : run.steps[token.place].hex;
    return tableRow(count(token.position), tokenName(token.name, token.special), count(token.id), spacedHex(hex), count(hex.length / 2));
  });
}

const guideTokens = {
  name: 'tokens', title: 'Text becomes a row of numbers', nav: 'Tokens',

  words: (run) => {
    const text = run.tokens.map((token) => token.text).join('');
    return [
      ['A model computes with numbers, so text is first cut into ', el('b', '', 'tokens'), ': pieces from a fixed list of ', el('b', '', count(run.vocabulary)), '. Each piece has a number, its ', el('b', '', 'id'), ', and only the ids go in.'],
      ['The list was made before the model was trained, by counting which pieces are common. Frequent words are one piece, often with the space before them; rare words fall into several. A character can take more than one token, since many tokenizers work on bytes.'],
      ['This run has ', el('b', '', plural(run.ids.length, 'token')), ' for ', el('b', '', plural([...text].length, 'character')), ': ', el('b', '', ([...text].length / run.ids.length).toFixed(1)), ' characters a token, marks included.'],
    ];
  },

  draw(run) {
    const typed = run.tokens.filter((token) => ['user', 'raw'].includes(token.kind));
    const made = run.tokens.slice(run.given);
    const heads = ['position', 'token', 'id', 'bytes', 'how many'];
    return [
      el('h3', '', (typed.length > TYPED_ROWS ? 'The end of what was typed' : 'What was typed') + (typed.some((token) => token.special) ? ', with its marks' : '')),
      scrollTable('guide-tokens', 'tokens of the question', heads, tokenRows(typed.slice(-TYPED_ROWS), run)),
      ...(made.length ? [el('h3', '', 'The answer begins'), scrollTable('guide-tokens', 'first tokens of the answer', heads, tokenRows(made.slice(0, 8), run))] : []),
      el('p', 'caption', '␣ is a space that belongs to the token, ⏎ a line break. Bytes are in hexadecimal.'),
    ];
  },

  task: {
    words: 'On the Prompt tab, type a single word that the tokenizer cuts into three pieces or more.',
    tab: 'prompt', light: '#tokenizer-text', needsModel: true,
    begin: ({ find }) => find('#tokenizer-text')?.value,
    done({ find, begun }) {
      const text = find('#tokenizer-text')?.value.trim() || '';
      const pieces = document.querySelectorAll('.tokenizer .cut:first-child .token');
      const shown = [...pieces].map((chip) => chip.querySelector('.ink').textContent).join('');
      return text !== begun && /^\S+$/.test(text) && pieces.length >= 3 && shown.includes(text[0]);
    },
  },

  question: {
    words: 'Why do models miscount the letters of a word?',
    choices: [
      { words: 'They get ids of pieces, not letters.', right: true, why: 'What letters are in a piece has to be known by heart: the id does not show them.' },
      { words: 'They cannot count at all.', right: false, why: 'They do better where each letter is a token of its own: type the word with spaces between its letters and see the pieces.' },
      { words: 'The letters are lost when the answer is written.', right: false, why: 'Ids turn back into text without any loss. The letters are missing on the way in.' },
    ],
  },
};
