// The strip as a picture: drawn from the records, in the colours of the theme that is on.

const MOST_PIXELS = 16000; // of a side: what browsers still draw

function themeColours() {
  const style = getComputedStyle(document.body);
  const of = (name) => style.getPropertyValue('--tp-' + name).trim();
  const number = (name) => Number(of(name));
  return {
    of,
    // The ramp of board.css.
    heat(s) {
      const between = (low, high) => number(low) + (number(high) - number(low)) * s;
      return 'oklch(' + between('l0', 'l1') + ' ' + between('c0', 'c1') + ' ' + (95 - 75 * s) + ')';
    },
  };
}

// `shown`: {title, lanes: [{name, lane}], mode, foot}. Resolves to a PNG. Throws an error whose message is a sentence.
async function stripPicture({ title, lanes, mode, foot }) {
  const canvas = el('canvas');
  const pen = canvas.getContext('2d');
  const colours = themeColours();
  const [sans, mono] = [colours.of('sans'), colours.of('mono')];
  const fonts = { text: '17px ' + sans, small: '12px ' + mono, title: '600 15px ' + sans, name: '600 12px ' + sans, foot: '12px ' + sans };
  const measure = (text, small) => {
    pen.font = small ? fonts.small : fonts.text;
    return pen.measureText(text).width;
  };
  const { width, margin, heading } = PICTURE;
  pen.font = fonts.title;
  const lines = cutToFit(title, width - 2 * margin, (text) => pen.measureText(text).width).filter(Boolean).slice(0, 3);
  const top = margin + lines.length * heading + (lines.length ? 8 : 0);
  const tokens = lanes.map(({ name, lane }) => ({ name, tokens: pictureTokens(lane.steps, (step) => COLOURS[mode].of(step, lane)) }));
  const { names, boxes, height: bottom } = layLanes(tokens, top, measure);
  const height = Math.ceil(bottom + 30 + margin / 2);
  const scale = Math.min(2, MOST_PIXELS / height);
  if (scale < 0.5) throw new Error('This strip is too long for one picture: save it as a web page.');
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  pen.scale(scale, scale);
  pen.fillStyle = colours.of('surface');
  pen.fillRect(0, 0, width, height);
  pen.textBaseline = 'middle';

  const write = (text, font, colour, x, y) => {
    pen.font = font;
    pen.fillStyle = colour;
    pen.fillText(text, x, y);
  };
  lines.forEach((line, place) => write(line, fonts.title, colours.of('ink'), margin, margin + heading * (place + 0.5)));
  for (const { text, y } of names) write(text, fonts.name, colours.of('mute'), margin, y);
  for (const box of boxes) {
    const pale = box.strength < 0.03;
    const high = box.special || box.mono ? 20 : 27;
    pen.fillStyle = box.special ? colours.of('special-soft') : colours.heat(box.strength);
    pen.beginPath();
    pen.roundRect(box.x, box.y - high / 2, box.width, high, box.special ? 10 : 5);
    if (box.special || !pale) pen.fill();
    const indent = (box.width - measure(box.text, box.special || box.mono)) / 2;
    write(box.text, box.special || box.mono ? fonts.small : fonts.text, colours.of(box.special ? 'special' : 'ink'), box.x + indent, box.y);
  }
  drawFoot(pen, colours, fonts.foot, COLOURS[mode], foot, height - margin / 2 - 12);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('The browser could not draw the picture.'))), 'image/png');
  });
}

// The legend, and whose strip it is.
function drawFoot(pen, colours, font, colour, foot, y) {
  const { width, margin } = PICTURE;
  pen.font = font;
  let x = margin;
  const write = (text) => {
    pen.fillStyle = colours.of('mute');
    pen.fillText(text, x, y);
    x += pen.measureText(text).width + 8;
  };
  if (colour.from) {
    write(colour.from);
    const ramp = pen.createLinearGradient(x, 0, x + 120, 0);
    for (let stop = 0; stop <= 1; stop += 0.25) ramp.addColorStop(stop, colours.heat(stop));
    pen.fillStyle = ramp;
    pen.fillRect(x, y - 4, 120, 8);
    x += 128;
    write(colour.to);
  }
  const own = pen.measureText(foot).width;
  const unit = '· ' + colour.unit;
  if (x + pen.measureText(unit).width + own + 24 < width - margin) write(unit);
  x = Math.max(x, width - margin - own);
  write(foot);
}
