// The settings of a lane: which there are, how they read, and the questions that set several lanes at once. Pure.

const MOST_LANES = 6;

// `off`: the value at which a setting does nothing; temperature has none.
const LANE_SETTINGS = [
  { name: 'temperature', label: 'temperature', low: 0, high: 2, step: 0.01, start: 0.8 },
  { name: 'top_k', label: 'top-k', low: 0, high: 200, step: 1, off: 0 },
  { name: 'top_p', label: 'top-p', low: 0.01, high: 1, step: 0.01, off: 1 },
  { name: 'min_p', label: 'min-p', low: 0, high: 1, step: 0.01, off: 0 },
  { name: 'repetition_penalty', label: 'repetition penalty', low: 0.5, high: 2, step: 0.01, off: 1 },
  { name: 'presence_penalty', label: 'presence penalty', low: -2, high: 2, step: 0.05, off: 0 },
  { name: 'frequency_penalty', label: 'frequency penalty', low: -2, high: 2, step: 0.05, off: 0 },
];

// Settings with every filter off but those given.
function laneParams(given) {
  const made = {};
  for (const { name, off, start } of LANE_SETTINGS) made[name] = given && name in given ? given[name] : off === undefined ? start : off;
  if (given && given.seed != null && given.seed !== '') made.seed = String(given.seed);
  return made;
}

function plainNumber(value) {
  return typeof value === 'number' ? String(Number(value.toFixed(6))) : String(value);
}

function settingLabel(name) {
  const known = LANE_SETTINGS.find((each) => each.name === name);
  return known ? known.label : name.replace(/_/g, ' ');
}

// What is set, in a line: temperature always, the others where they do something.
function settingsWords(params) {
  const parts = LANE_SETTINGS.filter(({ name, off }) => params[name] !== off).map(({ name, label }) => label + ' ' + plainNumber(params[name]));
  return (params.seed ? [...parts, 'seed ' + params.seed] : parts).join(' · ');
}

// Whether two lanes would be run alike; the seed counts only if both have one.
function alike(one, other) {
  return LANE_SETTINGS.every(({ name, off }) => (one[name] ?? off) === (other[name] ?? off))
    && (!one.seed || !other.seed || String(one.seed) === String(other.seed));
}

// `name`, or the same with the first number that no other lane has.
function freeName(name, taken) {
  const base = name.replace(/ \d+$/, '');
  for (let number = taken.includes(name) ? 2 : 0; ; number += 1) {
    const tried = number ? base + ' ' + number : name;
    if (!taken.includes(tried)) return tried;
  }
}

const QUESTIONS = [
  {
    ask: 'What does temperature do?', prompt: 'Describe the sea in two sentences.', sameDice: true,
    lanes: [['greedy', { temperature: 0 }], ['temperature 0.7', { temperature: 0.7 }], ['temperature 1.5', { temperature: 1.5 }]],
  },
  {
    ask: 'Top-p or min-p when it is hot?', prompt: 'Describe the sea in two sentences.', sameDice: true,
    lanes: [
      ['nothing cut', { temperature: 1.5 }], ['held by top-p', { temperature: 1.5, top_p: 0.9 }],
      ['held by min-p', { temperature: 1.5, min_p: 0.1 }],
    ],
  },
  {
    ask: 'Does a penalty end the loop?', prompt: 'List ten animals that live in the sea.', sameDice: true,
    lanes: [['no penalty', { temperature: 0 }], ['penalty 1.2', { temperature: 0, repetition_penalty: 1.2 }]],
  },
  {
    ask: 'Greedy, or luck?', prompt: 'Write the first sentence of a story.', sameDice: false,
    lanes: [
      ['greedy', { temperature: 0 }], ['seed 1', { temperature: 0.8, seed: '1' }], ['seed 2', { temperature: 0.8, seed: '2' }],
      ['seed 3', { temperature: 0.8, seed: '3' }],
    ],
  },
];
