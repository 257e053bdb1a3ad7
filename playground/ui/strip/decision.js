// The decision in one sentence, as parts: a string, {strong} or {token}. Pure.

const STAGE_NAMES = {
  logit_bias: 'bias', repetition_penalty: 'repetition penalty', presence_penalty: 'presence penalty',
  frequency_penalty: 'frequency penalty', banned: 'banned', bans: 'banned', min_tokens: 'min tokens',
  presence_frequency: 'penalties', model: 'the model', temperature: 'temperature', top_k: 'top-k', top_p: 'top-p', min_p: 'min-p', typical_p: 'typical-p',
  greedy: 'greedy', listed: 'listed tokens',
};

function stageName(name) {
  return STAGE_NAMES[name] || name.replace(/_/g, ' ');
}

// Why a candidate was cut, in the sampler's own words and numbers.
function reasonOf(step, candidate) {
  if (candidate.removedBy === null) return '';
  const stage = step.stages.find((entry) => entry.name === candidate.removedBy);
  return candidate.removedWhy || 'cut by ' + stageName(candidate.removedBy) + (stage ? ' ' + stage.setting : '');
}

function ordinal(rank) {
  const tail = rank % 100 > 10 && rank % 100 < 14 ? 'th' : ['th', 'st', 'nd', 'rd'][rank % 10] || 'th';
  return count(rank) + tail;
}

function decisionOf(step) {
  const token = { token: step.text };
  const standing = step.rank === 1 ? ['It was also the likeliest.'] : ['Not the likeliest: the ', { strong: ordinal(step.rank) }, ' choice.'];
  if (step.draw.method === 'forced') {
    const otherwise = step.removedBy
      ? 'The settings had cut it (' + stageName(step.removedBy) + ').'
      : 'By itself it had a chance of ' + percent(step.finalProb) + '.';
    return [token, ' was forced. ', otherwise];
  }
  if (step.draw.method === 'greedy') {
    const second = step.candidates.find((candidate) => candidate.id !== step.id);
    const ahead = second ? [', ahead of ', { token: second.text }, ' with ', { strong: percent(second.prob) }] : [];
    return ['No dice: the likeliest is taken. ', token, ' had ', { strong: percent(step.prob) }, ...ahead, '.'];
  }
  if (step.finalProb > 0.9999995) {
    return ['Only ', token, ' was left, so any roll would have picked it. ', ...standing];
  }
  const [low, high, roll] = interval(step.draw.low, step.draw.high, step.draw.u);
  return ['The roll ', { strong: roll }, ' fell between ', { strong: low + ' and ' + high }, ', the stretch of ', token, '. ', ...standing];
}
