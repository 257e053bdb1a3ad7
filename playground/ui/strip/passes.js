// The passes of a run through the model: one reads the prompt, then one makes each token. Pure.

function mean(numbers) {
  return numbers.length ? numbers.reduce((sum, number) => sum + number, 0) / numbers.length : null;
}

function rate(perSecond) {
  if (perSecond == null) return '–';
  return (perSecond >= 99.5 ? count(perSecond) : perSecond.toFixed(1)) + ' tokens/s';
}

// A token has a pass of its own unless it came out of prefill (the first) or was given and read along with
// the prompt; such a step has no forward time. `end` is the lane's end operation, null while it runs; `reader`
// that of the run which read the prompt, where this one goes on from another's tokens.
function passesOf(promptLength, steps, end, reader) {
  const ticks = steps.slice(1).map((step) => ({ index: step.index, own: step.forward > 0, time: step.time }));
  const own = steps.filter((step, place) => place > 0 && step.forward > 0);
  const each = end && end.each != null ? end.each : mean(own.map((step) => step.queue + step.time));
  const read = reader || end || {};
  const [reading] = read.speed || [null];
  const writing = end && end.speed ? end.speed[1] : null;
  const first = steps.length ? steps[0].forward : null;
  return {
    prefill: {
      tokens: promptLength, reused: read.reused != null ? read.reused : null,
      time: read.prefill != null ? read.prefill : first, speed: reading,
    },
    ticks, each, speed: writing != null ? writing : each ? 1000 / each : null, decodes: own.length,
    slowest: own.reduce((most, step) => Math.max(most, step.time), 0),
  };
}

// Widths in pixels. A token is as wide in prefill as in decode, as far as the block stays readable; passes
// too thin to be seen share a column.
function ribbonLayout(width, promptLength, passes) {
  const gap = 8;
  const share = (width * promptLength) / Math.max(1, promptLength + passes);
  const block = passes ? Math.min(Math.max(share, Math.min(118, width * 0.4)), width * 0.45) : width;
  const room = Math.max(0, width - block - gap);
  const pitch = Math.min(16, room / Math.max(1, passes));
  const group = pitch >= 2 ? 1 : Math.ceil(2 / Math.max(pitch, 1e-6));
  return { block, room, group, pitch: pitch * group };
}

// One column per `group` passes, as high as the slowest of them: [{from, to, height, own}].
function columnsOf(ticks, slowest, group) {
  const columns = [];
  for (let from = 0; from < ticks.length; from += group) {
    const own = ticks.slice(from, from + group).filter((tick) => tick.own);
    const time = own.reduce((most, tick) => Math.max(most, tick.time), 0);
    const to = Math.min(from + group, ticks.length);
    columns.push({ from, to, height: slowest ? Math.max(0.04, time / slowest) : 0.04, own: own.length > 0 });
  }
  return columns;
}

// SVG path of the columns that `fits` picks: bars that stand on the ground. `pitch`, `height` in pixels.
function barsPath(columns, pitch, height, fits) {
  const width = Math.max(1, pitch - Math.min(2, pitch * 0.25));
  return columns.map((column, place) => (fits(column)
    ? 'M' + (place * pitch).toFixed(2) + ' ' + height + 'v' + (-column.height * height).toFixed(2) + 'h' + width.toFixed(2) + 'V' + height + 'z'
    : '')).join('');
}

// What the passes say in words, without the tokens' texts.
function prefillWords(prefill) {
  const { tokens, reused, speed } = prefill;
  const read = count(tokens) + (tokens === 1 ? ' token' : ' tokens') + ' in one pass';
  if (prefill.time === 0) return ['needs no pass: all ' + count(tokens) + ' tokens are known from before', ''];
  if (!reused) return [read, speed == null ? '' : rate(speed)];
  const all = reused >= tokens ? 'all of them' : count(reused) + ' of them';
  return [read + ', ' + all + ' known from before', speed == null ? '' : rate(speed)];
}

function decodeWords(passes) {
  if (!passes.decodes) return ['no pass yet', ''];
  const many = count(passes.decodes) + (passes.decodes === 1 ? ' pass' : ' passes');
  return [many + ', ' + milliseconds(passes.each) + ' each', rate(passes.speed)];
}

function weightWords(weights, prefill) {
  if (weights == null) return 'Weights read per pass: not available here.';
  const fresh = prefill.tokens - (prefill.reused || 0);
  const shared = fresh > 1 ? ' Prefill shares that among ' + count(fresh) + ' tokens, decode pays it for every single one.' : '';
  return 'Weights read per pass: ' + bytesize(weights) + ', all of the model.' + shared;
}

// Which pass made the token at `index`, counted from 1: prefill is the first if there was one.
function passNumber(passes, index) {
  const before = passes.ticks.slice(0, index).filter((tick) => tick.own).length;
  return before + (passes.prefill.time === 0 ? 0 : 1);
}

// The pass that made the token at `index`, in words.
function passWords(passes, index) {
  if (index === 0) return passes.prefill.time === 0 ? 'known from before, no pass' : 'prefill, ' + milliseconds(passes.prefill.time);
  const tick = passes.ticks[index - 1];
  return tick.own ? 'pass ' + count(passNumber(passes, index)) + ', ' + milliseconds(tick.time) : 'given, no pass of its own';
}

// A row of the loop as a table: plain values for the step at `place`.
function loopRow(promptLength, steps, place, passes) {
  const step = steps[place];
  const own = place === 0 ? passes.prefill.time !== 0 : step.forward > 0;
  const { reused } = passes.prefill;
  const fresh = place === 0 ? promptLength - (reused || 0) : 1;
  return {
    index: step.index, pass: own ? count(passNumber(passes, place)) : '–',
    came: place === 0 ? null : steps[place - 1].text, // null: the prompt
    fresh: own ? count(fresh) : '–',
    held: own || place === 0 ? count(place === 0 ? reused || 0 : Math.max(0, step.kvLen - 1)) : '–',
    picked: step.text, special: step.special, how: step.draw.method,
    prob: percent(step.prob), finalProb: percent(step.finalProb),
    time: own ? milliseconds(place === 0 && passes.prefill.time != null ? passes.prefill.time : step.time) : '–',
  };
}
