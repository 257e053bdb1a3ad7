// What the run cost so far. Pure up to `metersOf`: label and value per meter.

const REASONS = {
  end_token: 'end token', stop_string: 'stop string', max_tokens: 'token limit', context_full: 'full context',
  stopped: 'you', no_token_left: 'no token left', nan_logits: 'broken logits', error: 'an error',
};

function mean(numbers) {
  return numbers.length ? numbers.reduce((sum, number) => sum + number, 0) / numbers.length : null;
}

function metersOf(run, lane) {
  const last = lane.steps[lane.steps.length - 1];
  const first = lane.steps[0];
  const end = lane.end || {};
  const firstTime = end.first != null ? end.first : first ? first.queue + first.time : null;
  const each = end.each != null ? end.each : mean(lane.steps.slice(1).map((step) => step.time));
  const used = run.prompt.length + lane.steps.length;
  return [
    ['read + written', count(run.prompt.length) + ' + ' + count(lane.steps.length)],
    ['first token' + (end.reused ? ', ' + count(end.reused) + ' reused' : ''), milliseconds(firstTime)],
    ['per token', milliseconds(each)],
    ['context', count(used) + (run.context ? ' / ' + count(run.context) : '')],
    ['KV cache', last ? bytesize(last.kvBytes) : '–'],
    ['stopped by', lane.end ? REASONS[lane.end.reason] || lane.end.reason : '…'],
  ];
}
