// Temperature and filters: how a distribution becomes a choice.

const TEMPERED = 8; // tokens in the picture

// Shares of the likeliest tokens of a step among themselves at a temperature above 0.
function temperedShares(step, temperature) {
  const rows = step.candidates.filter((candidate) => candidate.logit !== null).slice(0, TEMPERED);
  const weights = rows.map((candidate) => Math.exp((candidate.logit - rows[0].logit) / temperature));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return rows.map((candidate, place) => ({ candidate, share: weights[place] / sum }));
}

function makeHeat(step) {
  const body = el('div', '');
  const show = (temperature) => body.replaceChildren(...temperedShares(step, temperature).map(({ candidate, share }) => (
    guideOdds(tokenName(candidate.text, candidate.special), share, percent(share), candidate.id === step.id))));
  const settings = { id: 'guide-heat', min: 0.1, max: 3, step: 0.1, value: 1 };
  return [guideSlider(settings, (temperature) => ['Temperature ', el('b', '', String(temperature))], show), body];
}

const guideTemperature = {
  name: 'temperature', title: 'Temperature, filters and the dice', nav: 'Temperature',

  words: (run) => [
    ['Before softmax, every logit is divided by the ', el('b', '', 'temperature'), '. Below 1 the distances grow, and the likeliest token takes more; above 1 they shrink. At 0 nothing is drawn: the likeliest token is taken.'],
    ['Then ', el('b', '', 'filters'), ' cut the tail. Top-k keeps the k likeliest, top-p the fewest that hold a share p together, min-p those with at least a share of what the likeliest has. What is left is scaled to one again, and one number between 0 and 1, the ', el('b', '', 'dice'), ', picks from it.'],
    run.params ? ['This run has temperature ', el('b', '', String(run.params.temperature)), ', top-k ', el('b', '', run.params.top_k ? count(run.params.top_k) : 'off'), ', top-p ',
      el('b', '', run.params.top_p < 1 ? String(run.params.top_p) : 'off'), ' and min-p ', el('b', '', run.params.min_p ? String(run.params.min_p) : 'off'), '.'] : 'This run came without its settings.',
  ],

  draw(run) {
    const step = oddestStep(run.steps);
    if (!step) return [el('p', 'caption', 'There is no answer yet: generate one on the Playground.')];
    return [
      el('h3', '', 'The likeliest tokens, warmer and colder'),
      el('p', 'caption', 'Token ' + count(step.index + 1) + ' of this answer, the one that the model gave least. Amber is what was picked.'),
      ...makeHeat(step),
      el('p', 'caption', 'Shares of these tokens among themselves. The inspector has all ' + count(run.vocabulary) + '.'),
    ];
  },

  task: {
    words: 'On the Playground, select a token of the answer, and under “What if” move the temperature to 1.5 or more.',
    tab: 'playground', light: ['#inspector .whatif', '#strip .lanes'], needsModel: true,
    done: ({ find }) => Boolean(find('#inspector .whatif.active')) && Number(find('#whatif-temperature input')?.value) >= 1.5,
  },

  question: {
    words: 'Which temperature brings all tokens nearer to the same chance?',
    choices: [
      { words: 'A high one.', right: true, why: 'Divided by a large number all logits come close to each other, and so do the probabilities.' },
      { words: 'Temperature 1.', right: false, why: 'That leaves the model’s own distribution as it is. Move the slider to 3 and compare.' },
      { words: 'One close to 0.', right: false, why: 'There the likeliest takes nearly everything. Move the slider to 0.1.' },
    ],
  },
};
