// What else the model expected where a token of the prompt stands. A run has the numbers of its own tokens only,
// so the rest is asked for, once, and kept with the token.

// The prompt up to the token, and the token as the first of an answer to that: no setting applies to what was given.
function rivalsRequest(run, token) {
  return {
    model: run.model, prompt_ids: run.prompt.slice(0, token.index).map((each) => each.id), answer_ids: [],
    params: { seed: 0, max_tokens: 1 }, given: token.id,
  };
}

// The step that an answer of ui/look.py brought, or why there is none: {step} or {problem}. Pure.
function readLook(answer, fits) {
  if (answer.error) return { problem: answer.error };
  const step = readStep(answer.steps[0], { texts: answer.texts || {}, names: answer.names || [] });
  return fits(step) ? { step } : { problem: 'Not available here: the model that runs now is not the one of this run.' };
}

// Whether the step is about the token as the run read it: another model would give it another probability.
function fitsToken(step, token) {
  return step.id === token.id && Math.abs(step.prob - token.prob) < 0.02;
}

// `read(run, token, told)` puts the rivals of a prompt token into `token.rivals`; `told({step} or {problem})` hears of
// it unless another token was asked about in between. What comes late is kept all the same.
function makeRivals(send) {
  const found = (answer, token) => readLook(answer, (step) => fitsToken(step, token));
  async function fetch(run, token) {
    const text = await send(rivalsRequest(run, token));
    token.rivals = found(JSON.parse(text), token).step;
    return text;
  }
  const asker = makeAsker(({ run, token }) => {
    token.asked ||= fetch(run, token).finally(() => { token.asked = null; });
    return token.asked;
  });
  return {
    read(run, token, told) {
      if (token.rivals) told({ step: token.rivals });
      else asker.ask({ run, token }, (answer) => told(token.rivals ? { step: token.rivals } : found(answer, token)));
    },
    drop: asker.drop,
  };
}
