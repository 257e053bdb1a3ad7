// From what the forms hold to a setup (setup.js) and back. What a form has no field for is told in `left`. Pure.

const linesOf = (text) => text.split('\n').filter(Boolean);
const oneLine = (texts) => texts.filter((text) => !text.includes('\n'));
const FORM_NUMBERS = [
  'temperature', 'top_k', 'top_p', 'min_p', 'typical_p', 'repetition_penalty', 'presence_penalty', 'frequency_penalty', 'max_tokens', 'min_tokens',
];
const MOST_FORM_BIAS = 100;

// `form`: {mode, system, prompt, seed, stops, watched, banned, biases, thinking, ignore_eos, history, numbers}, texts as
// they stand in the fields. A number that is empty stays at the default of links.
function setupOfForm(form, model) {
  const params = { stop: linesOf(form.stops), ignore_eos: form.ignore_eos };
  for (const name of FORM_NUMBERS) if (Number.isFinite(form.numbers[name])) params[name] = form.numbers[name];
  return readSetup({
    v: 1, kind: 'run', mode: form.mode, system: form.system, messages: form.history, prompt: form.prompt, thinking: form.thinking, model,
    seed: form.seed.trim() || null, watched: linesOf(form.watched), banned: linesOf(form.banned), biases: linesOf(form.biases),
    lanes: [{ params }],
  });
}

// {form, left}: what the Playground's form is filled with, and sentences about the rest.
function formOfSetup(setup) {
  const left = [];
  const { params } = setup.lanes[0];
  const biased = Object.entries(params.logit_bias);
  const fits = biased.filter(([, bias]) => bias !== null && Math.abs(bias) <= MOST_FORM_BIAS);
  if (oneLine(params.stop).length < params.stop.length) left.push('A stop string with a line break fits no line of this form, and was left out.');
  if (fits.length < biased.length || params.banned.length) left.push('Bans and biases that are given by token id fit no field of this form, and were left out.');
  const numbers = {};
  for (const name of FORM_NUMBERS) numbers[name] = params[name];
  const form = {
    mode: setup.mode, system: setup.system, prompt: setup.prompt, seed: params.seed ?? setup.seed ?? '', stops: oneLine(params.stop).join('\n'),
    watched: oneLine(setup.watched).join('\n'), banned: oneLine(setup.banned).join('\n'),
    biases: [...oneLine(setup.biases), ...fits.map(([id, bias]) => '#' + id + ' = ' + bias)].join('\n'),
    thinking: setup.thinking, ignore_eos: params.ignore_eos, history: setup.messages, numbers,
  };
  return { form, left };
}

// `request`: what the Compare form sends (compare/form.js); `reference`: the place of the lane the others are compared with.
function setupOfRequest(request, reference, model) {
  const tokens = request.max_tokens === null ? {} : { max_tokens: request.max_tokens };
  const { sweep } = request;
  return readSetup({
    v: 1, kind: request.kind, mode: request.mode, system: request.system, prompt: request.prompt, model, seed: request.seed || null,
    thinking: request.thinking ?? null, same_dice: request.same_dice, exact: request.exact, reference: Math.max(0, reference),
    ...(request.samples ? { samples: request.samples } : {}),
    lanes: request.lanes.map(({ name, params }) => ({ name, params: { ...params, ...tokens } })),
    sweep: sweep && sweep.steps && sweep.tokens ? { setting: sweep.setting, low: sweep.from ?? 0, high: sweep.to ?? 0, steps: sweep.steps, tokens: sweep.tokens } : null,
  });
}

// {request, left}: what the Compare form is filled with: lanes {name, params} and the rest as form.set has it.
function requestOfSetup(setup) {
  const left = [];
  const plain = readSetup({ v: 1 }).lanes[0].params;
  const known = [...LANE_SETTINGS.map(({ name }) => name), 'seed', 'max_tokens'];
  const odd = Object.keys(plain).filter((name) => !known.includes(name)
    && setup.lanes.some(({ params }) => JSON.stringify(params[name]) !== JSON.stringify(plain[name])));
  if (odd.length) left.push('A lane of this form has no field for ' + odd.map((name) => name.replaceAll('_', ' ')).join(', ') + ': left out.');
  if (setup.messages.length || setup.watched.length || setup.banned.length || setup.biases.length) {
    left.push('Earlier turns, watched tokens, bans and biases belong to the Playground’s form: left out.');
  }
  const named = setup.lanes.map(({ name, params }, place) => ({ name: name.trim() || 'lane ' + (place + 1), params }));
  const { params } = setup.lanes[0];
  return {
    left,
    lanes: named,
    request: {
      prompt: setup.prompt, system: setup.system, mode: setup.mode, same_dice: setup.same_dice, exact: setup.exact, params, seed: setup.seed ?? '',
      tokens: setup.sweep && setup.kind === 'sweep' ? setup.sweep.tokens : params.max_tokens, thinking: setup.thinking, samples: setup.samples,
      sweep: setup.sweep && { setting: setup.sweep.setting, values: [setup.sweep.low, setup.sweep.high], steps: setup.sweep.steps },
    },
  };
}
