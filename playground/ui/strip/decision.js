// The decision in one sentence, as parts: a string, {strong} or {token}. Pure.

const STAGE_NAMES = {
  logit_bias: 'bias', repetition_penalty: 'repetition penalty', presence_penalty: 'presence penalty',
  frequency_penalty: 'frequency penalty', banned: 'banned', bans: 'banned', min_tokens: 'min tokens',
  presence_frequency: 'penalties', model: 'the model', temperature: 'temperature', top_k: 'top-k', top_p: 'top-p', min_p: 'min-p', typical_p: 'typical-p',
  greedy: 'greedy',
};

function stageName(name) {
  return STAGE_NAMES[name] || name.replace(/_/g, ' ');
}

// Why a candidate was cut, with the numbers, as far as they can be told from what was sent.
function reasonOf(step, candidate) {
  const stage = step.stages.find((entry) => entry.name === candidate.removedBy);
  if (candidate.removedBy === 'greedy') return 'temperature 0 takes only the likeliest';
  if (candidate.removedBy === 'top_p' && stage) {
    return 'the likelier ones already hold ' + percent(stage.cutoff) + ' of the needed ' + percent(Number(stage.setting));
  }
  if (candidate.removedBy === 'min_p' && stage) {
    return 'it is under ' + percent(Number(stage.setting)) + ' of the likeliest, a floor of ' + percent(stage.cutoff);
  }
  if (candidate.removedBy === 'top_k' && stage) return 'rank ' + count(candidate.rank) + ' is not among the ' + stage.setting + ' likeliest';
  return candidate.removedBy === null ? '' : 'cut by ' + stageName(candidate.removedBy) + (stage ? ' ' + stage.setting : '');
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
