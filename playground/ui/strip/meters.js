// What the run cost so far: label and value per meter. Pure. Money is left out: nobody computed it.

const REASONS = {
  end_token: 'end token', stop_string: 'stop string', max_tokens: 'token limit', context_full: 'full context',
  stopped: 'you', no_token_left: 'no token left', nan_logits: 'broken logits', error: 'an error',
};

function metersOf(run, lane) {
  const last = lane.steps[lane.steps.length - 1];
  const first = lane.steps[0];
  const end = lane.end || {};
  const passes = passesOf(run.prompt.length, lane.steps, lane.end, lane.reader);
  const begun = lane.reader || end;
  const firstTime = begun.first != null ? begun.first : first ? first.queue + first.time : null;
  const used = run.prompt.length + lane.steps.length;
  return [
    ['read + written', count(run.prompt.length) + ' + ' + count(lane.steps.length)],
    ['first token', milliseconds(firstTime)],
    ['prefill', rate(passes.prefill.speed)],
    ['decode', rate(passes.speed)],
    ['per token', milliseconds(passes.each)],
    ['context', count(used) + (run.context ? ' / ' + count(run.context) : '')],
    ['KV cache', last ? bytesize(last.kvBytes) : '–'],
    ['stopped by', lane.end ? REASONS[lane.end.reason] || lane.end.reason : '…'],
  ];
}
