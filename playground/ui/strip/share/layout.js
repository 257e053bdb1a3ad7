// Where the tokens of an answer stand in a picture of its strip. Pure: `measure(text, small)` gives a width in pixels.

const PICTURE = { width: 960, margin: 28, line: 36, heading: 26, gap: 14, pill: 16, mono: 12 };

// The parts of a text that fit a line each, cut between characters where a word is longer than a line.
function cutToFit(text, width, measure, small) {
  const parts = [''];
  for (const sign of text) {
    const last = parts.length - 1;
    if (parts[last] && measure(parts[last] + sign, small) > width) parts.push(sign);
    else parts[last] += sign;
  }
  return parts;
}

// `tokens`: [{text (visible), strength (0 to 1), special, mono, breaks}] in reading order. Returns {boxes, bottom}: a box
// is {text, x, y (of its middle), width, strength, special, mono}, blanks before a word left out of it.
function layTokens(tokens, top, measure) {
  const { width, margin, line, pill } = PICTURE;
  const right = width - margin;
  const boxes = [];
  let x = margin;
  let y = top + line / 2;
  const turn = () => { x = margin; y += line; };
  for (const { text, strength, special, mono, breaks } of tokens) {
    const word = text.replace(/^ +(?=[^ ])/, '');
    const small = special || mono;
    const padding = special ? pill : small ? 8 : 2;
    x += measure(' '.repeat(text.length - word.length), false);
    const shown = /^ +$/.test(word) ? '␣'.repeat(word.length) : word;
    for (const part of cutToFit(shown, right - margin - padding, measure, small)) {
      const wide = measure(part, small) + padding;
      if (x + wide > right && x > margin) turn();
      boxes.push({ text: part, x, y, width: wide, strength, special, mono });
      x += wide + (special ? 4 : 0);
    }
    if (breaks) turn();
  }
  return { boxes, bottom: (x === margin && boxes.length ? y - line : y) + line / 2 };
}

// `lanes`: [{name, tokens}]. Returns {names: [{text, y}], boxes, height} below `top`.
function layLanes(lanes, top, measure) {
  const names = [];
  const boxes = [];
  let y = top;
  for (const { name, tokens } of lanes) {
    if (name) {
      names.push({ text: name, y: y + PICTURE.heading / 2 });
      y += PICTURE.heading;
    }
    const laid = layTokens(tokens, y, measure);
    boxes.push(...laid.boxes);
    y = laid.bottom + PICTURE.gap;
  }
  return { names, boxes, height: y };
}

// What a picture shows of the steps of a lane, as chips do: bytes where characters are not whole.
function pictureTokens(steps, strengthOf) {
  return piecesOf(steps).map((piece, index) => {
    const step = steps[index];
    const mono = piece.part !== undefined || piece.broken === true;
    const whole = piece.part !== undefined && piece.part === piece.parts ? ' ' + flowing(piece.text) : '';
    const text = mono ? spacedHex(step.hex) + whole : flowing(piece.text) || 'id ' + step.id;
    return { text, strength: strengthOf(step), special: Boolean(step.special), mono, breaks: !mono && piece.text.endsWith('\n') };
  });
}
