// What a visitor typed and set, as a settings link and a file of settings have it: the fields, defaults and limits of
// playground/links.py. Reading believes nothing: a field that nobody knows is refused. Pure.

const { readSetup, plainSetup } = (() => {
  // Each check gives the value, or throws an error that says in a clause what is wrong.
  const refuse = (name, need) => { throw new Error(name + ' must be ' + need); };
  const kindOf = (value) => (value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value);

  const aText = (value, name) => (typeof value === 'string' ? value : refuse(name, 'a text'));
  const aFlag = (value, name) => (typeof value === 'boolean' ? value : refuse(name, 'true or false'));
  const oneOf = (...choices) => (value, name) => (choices.includes(value) ? value : refuse(name, 'one of ' + choices.join(', ')));
  const whole = (low, high) => (value, name) => (
    Number.isInteger(value) && value >= low && value <= high ? value : refuse(name, 'a whole number from ' + low + ' to ' + high));
  const maybe = (check) => (value, name) => (value === null ? null : check(value, name));

  const aNumber = (low, high, above) => (value, name) => {
    const fits = typeof value === 'number' && value >= low && value <= high && !(above && value === low);
    return fits ? value : refuse(name, 'a number from ' + low + ' to ' + high);
  };

  const list = (check, least, most) => (value, name) => {
    if (kindOf(value) !== 'list' || value.length < least || value.length > most) refuse(name, 'a list of ' + least + ' to ' + most);
    return value.map((each) => check(each, name));
  };

  // `fields`: {name: [check, default]}; without a default the field must be there.
  const object = (fields) => (value, name) => {
    if (kindOf(value) !== 'object') refuse(name, 'an object');
    for (const key of Object.keys(value)) {
      if (!Object.hasOwn(fields, key)) throw new Error(name + ' have a field that nobody knows');
    }
    const made = {};
    for (const [key, [check, start]] of Object.entries(fields)) {
      if (Object.hasOwn(value, key)) made[key] = check(value[key], key);
      else if (start === undefined) refuse(key, 'there');
      else made[key] = structuredClone(start);
    }
    return made;
  };

  // Digits, since a number of JavaScript ends at 2^53.
  function seedDigits(value, name) {
    const text = Number.isSafeInteger(value) && value >= 0 ? String(value) : value;
    if (typeof text !== 'string' || !/^[0-9]{1,20}$/.test(text) || BigInt(text) >= 2n ** 64n) refuse(name, 'a whole number below 2^64');
    return String(BigInt(text));
  }

  function biasOfIds(value, name) {
    if (kindOf(value) !== 'object') refuse(name, 'an object');
    for (const [id, bias] of Object.entries(value)) {
      if (!/^[0-9]{1,8}$/.test(id)) refuse(name, 'by token ids');
      if (bias !== null) aNumber(-1e30, 1e30)(bias, name);
    }
    return { ...value };
  }

  function laneName(value, name) {
    return [...aText(value, name)].length <= 80 ? value : refuse(name, 'at most 80 characters long');
  }

  function modelName(value, name) {
    const part = '[A-Za-z0-9][A-Za-z0-9._-]{0,95}';
    const fits = typeof value === 'string' && !value.includes('..') && (value === '' || new RegExp('^' + part + '(/' + part + ')?$').test(value));
    return fits ? value : refuse(name, 'a model’s name such as org/name');
  }

  const MOST_COUNT = 10_000_000;
  const seedField = [maybe(seedDigits), null];
  const texts = [list(aText, 0, 1000), []];

  const LINK_PARAMS = {
    temperature: [aNumber(0, 1e6), 1], top_k: [whole(0, MOST_COUNT), 0], top_p: [aNumber(0, 1, true), 1], min_p: [aNumber(0, 1), 0],
    typical_p: [aNumber(0, 1, true), 1], repetition_penalty: [aNumber(0, 1000, true), 1], presence_penalty: [aNumber(-1000, 1000), 0],
    frequency_penalty: [aNumber(-1000, 1000), 0], logit_bias: [biasOfIds, {}], banned: [list(whole(0, MOST_COUNT), 0, MOST_COUNT), []],
    seed: seedField, max_tokens: [whole(1, MOST_COUNT), 256], min_tokens: [whole(0, MOST_COUNT), 0],
    stop: [list((value, name) => aText(value, name) || refuse(name, 'texts that are not empty'), 0, MOST_COUNT), []], ignore_eos: [aFlag, false],
  };

  function linkParams(value, name) {
    const made = object(LINK_PARAMS)(value, name);
    return made.min_tokens <= made.max_tokens ? made : refuse('min_tokens', 'at most max_tokens');
  }

  const PLAIN_PARAMS = linkParams({}, 'settings');
  const LINK_LANE = { name: [laneName, ''], params: [linkParams, PLAIN_PARAMS] };
  const LINK_MESSAGE = { role: [oneOf('system', 'user', 'assistant')], content: [aText] };
  const LINK_SWEEP = {
    setting: [aText], low: [aNumber(-Number.MAX_VALUE, Number.MAX_VALUE)], high: [aNumber(-Number.MAX_VALUE, Number.MAX_VALUE)],
    steps: [whole(1, MOST_COUNT)], tokens: [whole(1, MOST_COUNT)],
  };
  const LINK_SETUP = {
    kind: [oneOf('run', 'lanes', 'samples', 'sweep'), 'run'], mode: [oneOf('chat', 'raw'), 'chat'], system: [aText, ''],
    messages: [list(object(LINK_MESSAGE), 0, 1000), []], prompt: [aText, ''], thinking: [maybe(aFlag), null], model: [modelName, ''],
    seed: seedField, watched: texts, banned: texts, biases: texts,
    lanes: [list(object(LINK_LANE), 1, 6), [{ name: '', params: PLAIN_PARAMS }]], reference: [whole(0, 5), 0],
    same_dice: [aFlag, true], exact: [aFlag, false], samples: [whole(1, MOST_COUNT), 8], sweep: [maybe(object(LINK_SWEEP)), null],
  };

  // A whole setup, seeds as digits, from what a link or a file says. Throws an error whose message is a sentence.
  function readSetup(value) {
    if (kindOf(value) !== 'object' || !Object.hasOwn(value, 'v')) throw new Error('These settings cannot be read: they do not say their version.');
    const { v: version, ...said } = value;
    if (version !== 1) throw new Error('These settings are of another version than 1, the one that this page reads.');
    let setup;
    try {
      setup = object(LINK_SETUP)(said, 'settings');
      whole(0, setup.lanes.length - 1)(setup.reference, 'reference');
    } catch (error) {
      throw new Error('These settings cannot be used: ' + error.message + '.');
    }
    return setup;
  }

  // What a link or a file says of a setup: without fields that are at their defaults.
  function plainSetup(setup) {
    const seeded = (seed) => (seed !== null && Number.isSafeInteger(Number(seed)) ? Number(seed) : seed);
    const own = (fields, value) => {
      const made = {};
      for (const [key, [, start]] of Object.entries(fields)) {
        if (!Object.hasOwn(value, key) || JSON.stringify(value[key]) === JSON.stringify(start)) continue;
        made[key] = key === 'seed' ? seeded(value[key]) : value[key];
      }
      return made;
    };
    const lanes = setup.lanes.map((lane) => own(LINK_LANE, { ...lane, params: own(LINK_PARAMS, lane.params) }));
    for (const lane of lanes) if (lane.params && !Object.keys(lane.params).length) delete lane.params;
    const made = { v: 1, ...own(LINK_SETUP, setup), lanes };
    if (lanes.length === 1 && !Object.keys(lanes[0]).length) delete made.lanes;
    return made;
  }

  return { readSetup, plainSetup };
})();
