// What the passes of a run, and the calls of an agent, come to in tokens, time and price. Pure.

// The passes of a run as the pages of the guide get it: times of the model alone, without picking.
function guidePassesOf(run) {
  const passes = passesOf(run.given, run.steps, run.end, run.run.lanes[0].reader);
  return { ...passes, ticks: passes.ticks.map((tick, place) => ({ ...tick, time: run.steps[place + 1].forward })) };
}

// Tokens, passes and milliseconds of reading the prompt and of writing after it. The first token of an answer comes
// out of the prompt's pass. The argument: see passesOf.
function spentOf({ prefill, ticks }) {
  const own = ticks.filter((tick) => tick.own);
  return {
    read: { tokens: prefill.tokens - (prefill.reused || 0), passes: prefill.time ? 1 : 0, time: prefill.time || 0 },
    written: { tokens: own.length, passes: own.length, time: own.reduce((sum, tick) => sum + tick.time, 0) },
  };
}

// The prompts of an agent's calls, one after the other: each is the one before, what was `written` to it and what a
// tool `returned`. `kept` are the tokens whose keys and values are there from before: of the last one that was
// written there are none yet, since no pass has read it.
function agentCalls(prompt, written, returned, calls) {
  return Array.from({ length: calls }, (_, call) => {
    const tokens = prompt + call * (written + returned);
    const fresh = call ? returned + Math.min(1, written) : prompt;
    return { tokens, fresh, kept: tokens - fresh };
  });
}

// Tokens that all of the calls read as prompts: each anew, and with the prefix kept.
function callSums(calls) {
  const sum = (key) => calls.reduce((total, call) => total + call[key], 0);
  return { anew: sum('tokens'), kept: sum('fresh') };
}

// The first of `calls` whose prompt and answer the context has no room for; 0 where all fit.
function callTooLong(calls, written, context) {
  return context ? 1 + calls.findIndex((call) => call.tokens + written > context) : 0;
}

// How many turns of a chat a context has room for where each takes as many tokens as those that are there; null where
// it is no chat. `parts`: who wrote how many tokens of the prompt; `used`: those of prompt and answer.
function turnsThatFit(parts, used, context) {
  const fixed = parts.filter(([name]) => name === BLOCKS.system).reduce((sum, [, tokens]) => sum + tokens, 0);
  const turns = parts.filter(([name]) => name === BLOCKS.user).length;
  return turns ? Math.floor((context - fixed) / ((used - fixed) / turns)) : null;
}

// Three digits are enough for a price.
function priceWords(price) {
  return price >= 1000 ? count(price) : String(Number(price.toPrecision(3)));
}
