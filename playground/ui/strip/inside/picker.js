// Which head is looked at: two number fields, and a grid of every head drawn on a canvas.

// One pair of fields for all sections that need it; the open one holds it. `change(layer, head)` hears of both.
function makeHeadPicker(change) {
  const field = (id, label) => {
    const input = el('input');
    Object.assign(input, { type: 'number', id, min: 0, step: 1, value: 0 });
    return [el('label', 'number', label, input), input];
  };
  const [layerLabel, layer] = field('inside-layer', 'layer');
  const [headLabel, head] = field('inside-head', 'head');
  const words = el('span', 'said');
  const element = el('div', 'picker', layerLabel, headLabel, words);
  let shape = null;

  function tell() {
    words.textContent = [headWords(shape, Number(head.value)), windowWords(shape, Number(layer.value))].filter(Boolean).join(' ');
  }

  for (const input of [layer, head]) {
    input.addEventListener('change', () => {
      input.value = Math.round(Math.min(Number(input.max), Math.max(0, Number(input.value) || 0)));
      tell();
      change(Number(layer.value), Number(head.value));
    });
  }
  return {
    element,
    fit(of) {
      shape = of;
      layer.max = shape.layers - 1;
      head.max = shape.heads - 1;
    },
    set(atLayer, atHead) {
      layer.value = atLayer;
      head.value = atHead;
      tell();
    },
  };
}

const GRID_STATISTICS = [
  ['thumbs', 'the map, shrunk'], ['first', 'weight on position 0'], ['itself', 'weight on itself'],
  ['previous', 'weight on the one before'], ['entropy', 'entropy'],
];

// Every head at a glance: layers from left to right, heads from top to bottom. Arrow keys walk, Enter or a click opens.
function makeHeadGrid(open) {
  const canvas = el('canvas');
  const told = el('p', 'said cell');
  const chooser = el('select');
  chooser.setAttribute('aria-label', 'what the grid shows');
  for (const [value, label] of GRID_STATISTICS) {
    const option = el('option', '', label);
    option.value = value;
    chooser.append(option);
  }
  const scroll = el('div', 'scroll', canvas);
  const element = el('div', 'head-grid', scroll, told);
  canvas.tabIndex = 0;
  canvas.setAttribute('role', 'application');
  canvas.setAttribute('aria-roledescription', 'grid of heads');
  told.setAttribute('aria-live', 'polite');
  const [left, top] = [34, 20]; // room for the heads' and the layers' numbers
  let grid = null;
  let chosen = { column: 0, row: 0 };
  let at = null; // under the pointer or the arrow keys
  let cell = 26;

  const layers = () => grid.thumbs.length;
  const heads = () => grid.thumbs[0].length;

  function words({ column, row }) {
    const share = (name) => percent(grid[name][column][row]);
    return 'Layer ' + column + ', head ' + row + ': ' + share('first') + ' on position 0, ' + share('itself') + ' on itself, '
      + share('previous') + ' on the one before; entropy ' + grid.entropy[column][row].toFixed(2) + ' nats.';
  }

  function tell() {
    told.textContent = words(at || chosen);
    canvas.setAttribute('aria-label', words(at || chosen) + ' Arrow keys walk, Enter opens.');
  }

  function fill(context, column, row, colour, most) {
    const [x, y, size] = [left + column * cell, top + row * cell, cell - 3];
    const statistic = chooser.value;
    context.globalAlpha = 1;
    context.fillStyle = colour('--tp-sunk');
    context.fillRect(x, y, size, size);
    context.fillStyle = colour('--tp-accent');
    if (statistic !== 'thumbs') {
      context.globalAlpha = grid[statistic][column][row] / most;
      context.fillRect(x, y, size, size);
      return;
    }
    const thumb = grid.thumbs[column][row];
    const largest = Math.max(...thumb, 1e-9);
    const side = grid.size;
    const edge = (place) => Math.round((place * size) / side); // whole pixels: cells that touch leave no seam
    thumb.forEach((weight, place) => {
      if (weight <= 0) return;
      const [across, down] = [place % side, Math.floor(place / side)];
      context.globalAlpha = Math.sqrt(weight / largest); // so that faint weights are seen beside a strong one
      context.fillRect(x + edge(across), y + edge(down), edge(across + 1) - edge(across), edge(down + 1) - edge(down));
    });
  }

  function draw() {
    if (!grid || !scroll.clientWidth) return;
    cell = Math.min(40, Math.max(24, Math.floor((scroll.clientWidth - left - 2) / layers())));
    const [width, height] = [left + layers() * cell + 1, top + heads() * cell + 1];
    const scale = window.devicePixelRatio || 1;
    Object.assign(canvas, { width: width * scale, height: height * scale });
    Object.assign(canvas.style, { width: width + 'px', height: height + 'px' });
    const style = getComputedStyle(canvas);
    const colour = (name) => style.getPropertyValue(name).trim();
    const context = canvas.getContext('2d');
    context.scale(scale, scale);
    const most = chooser.value === 'entropy' ? Math.max(...grid.entropy.flat(), 1e-9) : 1;
    for (let column = 0; column < layers(); column += 1) for (let row = 0; row < heads(); row += 1) fill(context, column, row, colour, most);
    context.globalAlpha = 1;
    context.fillStyle = colour('--tp-mute');
    context.font = '10.5px ' + style.fontFamily;
    context.textAlign = 'center';
    const every = layers() > 16 ? 5 : layers() > 8 ? 2 : 1;
    for (let column = 0; column < layers(); column += every) context.fillText(column, left + (column + 0.5) * cell - 1.5, 12);
    context.textAlign = 'right';
    for (let row = 0; row < heads(); row += heads() > 16 ? 4 : 1) context.fillText(row, left - 8, top + (row + 0.5) * cell + 2);
    context.lineWidth = 2;
    for (const [place, name] of [[chosen, '--tp-ink'], [at, '--tp-accent']]) {
      if (!place) continue;
      context.strokeStyle = colour(name);
      context.strokeRect(left + place.column * cell - 1, top + place.row * cell - 1, cell - 1, cell - 1);
    }
    tell();
  }

  function under(event) {
    const box = canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - left) / cell);
    const row = Math.floor((event.clientY - box.top - top) / cell);
    return column >= 0 && row >= 0 && column < layers() && row < heads() ? { column, row } : null;
  }

  function move(place) {
    at = place;
    draw();
  }

  function take(place) {
    if (!place) return;
    chosen = place;
    at = null;
    draw();
    open(place.column, place.row);
  }

  canvas.addEventListener('pointermove', (event) => { if (grid && event.pointerType !== 'touch') move(under(event)); });
  canvas.addEventListener('pointerleave', () => move(null));
  canvas.addEventListener('click', (event) => take(under(event)));
  canvas.addEventListener('blur', () => move(null));
  canvas.addEventListener('keydown', (event) => {
    if (!grid) return;
    if (event.key === 'Enter' || event.key === ' ') take(at || chosen);
    else {
      const next = gridMove(event.key, at || chosen, layers(), heads());
      if (!next) return;
      move(next);
      const x = left + next.column * cell;
      if (x < scroll.scrollLeft + left || x + cell > scroll.scrollLeft + scroll.clientWidth) scroll.scrollLeft = x - scroll.clientWidth / 2;
    }
    event.preventDefault();
  });
  chooser.addEventListener('change', draw);
  new ResizeObserver(draw).observe(scroll);
  new MutationObserver(draw).observe(document.body, { attributes: true, attributeFilter: ['class'] });
  return {
    element, chooser,
    show(look) {
      grid = look;
      draw();
    },
    choose(layer, head) {
      chosen = { column: layer, row: head };
      draw();
    },
  };
}
