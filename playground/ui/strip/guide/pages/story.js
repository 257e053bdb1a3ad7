// The story: one question, told pass by pass.

const TYPED_SHOWN = 300; // characters of the question
const STORY_PROMPT = 'What is the capital of France?';

// The part of the prompt that the visitor typed last, as text, cut where it is long.
function typedWords(run) {
  const typed = run.tokens.filter((token) => token.prompt && ['user', 'raw'].includes(run.segments[run.prompt[token.place].segment][0]));
  const last = typed.length ? typed[typed.length - 1].block : -1;
  const text = [...decode(new Uint8Array(typed.filter((token) => token.block === last).flatMap((token) => [...unhex(run.prompt[token.place].hex)]))).trim()];
  return text.slice(0, TYPED_SHOWN).join('') + (text.length > TYPED_SHOWN ? ' …' : '');
}

// What the pass that gave `step` had to read: the whole prompt, then one token each time.
function storyPass(run, place) {
  const step = run.steps[place];
  const before = place ? run.tokens[run.given + place - 1] : null;
  const { reused, time } = guidePassesOf(run).prefill;
  const read = !before && time === 0 ? ['No pass was needed: the ', el('b', '', plural(run.given, 'token')), ' of the prompt are kept from before, and so are these odds.']
    : !before ? ['It reads the whole prompt at once: ', el('b', '', plural(run.given, 'token')), reused ? ', ' + count(reused) + ' of them kept from before.' : '.']
    : step.forward > 0 ? ['It reads one more token, ', tokenName(before.name, before.special), ', and has all others in its cache.']
      : ['It had no pass of its own: tokens that are given are read together, which gives the odds of several places at once.'];
  const rows = likeliest(step, 5).rows.map((row) => guideOdds(tokenName(row.text, row.special), row.prob, percent(row.prob), row.id === step.id));
  const how = { greedy: 'The likeliest was taken.', sampled: 'The dice fell on it.', forced: 'It was set by hand.' }[step.draw.method];
  const last = place === run.steps.length - 1 && run.end;
  return [
    el('p', 'caption', ...read),
    el('h3', '', 'What may come next: the model’s own odds'), ...rows,
    el('p', 'caption', 'Picked: ', tokenName(step.text, step.special), '. ' + how + (last ? ' ' + run.end.message : ' It is appended, and the next pass begins.')),
  ];
}

// Whether every token of the answer had a pass: none was given, and the prompt was not known from before.
function onePassEach(run) {
  return guidePassesOf(run).prefill.time !== 0 && run.steps.slice(1).every((step) => step.forward > 0);
}

function makeStoryWalk(run) {
  const body = el('div', 'guide-pass');
  const text = el('p', 'guide-text');

  function show(pass) {
    const place = pass - 1;
    body.replaceChildren(...storyPass(run, place));
    const written = run.tokens.slice(run.given, run.given + place + 1);
    text.replaceChildren(...written.map((token, at) => el('bdi', (at === place ? 'fresh' : '') + (token.special ? ' name special' : ''), token.special ? token.name : flowing(token.text))));
  }

  const settings = { id: 'guide-pass', min: 1, max: run.steps.length, step: 1, value: 1 };
  return [guideSlider(settings, (pass) => [onePassEach(run) ? 'Pass ' : 'Token ', el('b', '', count(pass)), ' of ' + count(run.steps.length)], show), body, el('h3', '', 'The answer so far'), text];
}

const guideStory = {
  name: 'story', title: 'One question, pass by pass', nav: 'The story',

  words: (run) => [
    ['You press a key, and words come back. In between lies one simple loop. First the program ',
      ...(writtenBy(run).some(([name]) => name === 'the template') ? [el('b', '', 'wraps your words up'), ' in a template and cuts the text into '] : [el('b', '', 'cuts your text'), ' into ']),
      el('b', '', plural(run.given, 'token')), '.'],
    ['Then the model ', el('b', '', 'reads everything'), ' in one pass. What comes out is not a sentence: it is a score for each of the ' + count(run.vocabulary) + ' tokens it knows, for one place only, the next.'],
    ['A sampler ', el('b', '', 'picks one token and appends it'), '. The model runs again for the one after, and again. This answer ',
      ...(onePassEach(run) ? ['took ', el('b', '', count(run.steps.length) + (run.steps.length === 1 ? ' pass' : ' passes'))] : ['has ', el('b', '', plural(run.steps.length, 'token'))]),
      '. Nothing that was picked is ever taken back.'],
    ['It has to ', el('b', '', 'know when to stop'), ', too. The end is a token like others, and it can be picked at any step. Here: ', run.end ? run.end.message : 'the run was not finished.'],
  ],

  draw: (run, guide) => [
    el('p', 'caption', run.recorded && guide.live() ? 'A recorded run. ' : '', 'Asked: ', el('b', '', typedWords(run) || 'nothing typed')),
    ...(run.steps.length ? makeStoryWalk(run) : [el('p', 'caption', 'This run has no answer yet.')]),
    el('p', 'buttons', ...storyButtons(run, guide)),
  ],

  task: {
    words: 'Press Generate and watch: one token comes for each pass of the model.',
    tab: 'playground', light: '#generate', needsModel: true,
    prefill: { mode: 'chat', prompt: STORY_PROMPT },
    begin: ({ run }) => run,
    done: ({ run, begun, busy }) => run !== begun && !busy && Boolean(run.lanes[0].end),
  },

  question: {
    words: (run) => 'This answer has ' + plural(run.steps.length, 'token') + '. How often does the model run to write as many?',
    choices: (run) => [
      { words: 'Once: it writes the whole answer and then shows it bit by bit.', right: false, why: 'One pass gives the odds for one place. Move the slider: each pass has odds of its own.' },
      { words: 'Once for each token: ' + count(run.steps.length) + ' times.', right: true, why: 'The first pass reads the prompt and gives the first token; each pass after it gives one more.' },
      { words: 'Once for each word, and once more for the full stop.', right: false, why: 'The model knows no words, only tokens. Some words are cut into several.' },
    ],
  },
};

function storyButtons(run, guide) {
  const asked = button('', 'Use the recorded question');
  asked.disabled = Boolean(run.recorded) && run.run.live === undefined;
  asked.addEventListener('click', () => {
    guide.recorded();
    guide.again();
  });
  const live = button('', 'Ask it live');
  live.disabled = !guide.live() || isBusy();
  live.addEventListener('click', () => {
    fillFields({ mode: 'chat', prompt: STORY_PROMPT });
    document.querySelector('#generate')?.click();
  });
  return [asked, live];
}
