// Embeddings: the row of a table that a token becomes, the rows that point the same way, and words on a map.

const FIRST_WORDS = 'king, queen, prince, princess, man, woman, apple, orange, banana, Paris, London, France, England';
const MOST_WORDS = 60;

// The numbers of a vector as bars from a middle line, the largest as high as there is room.
function makeVectorBars(label) {
  const canvas = el('canvas', 'vector');
  canvas.setAttribute('role', 'img');
  let vector = [];

  function draw() {
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (!width || !vector.length) return;
    const scale = window.devicePixelRatio || 1;
    Object.assign(canvas, { width: width * scale, height: height * scale });
    const context = canvas.getContext('2d');
    context.scale(scale, scale);
    const style = getComputedStyle(canvas);
    const most = Math.max(...vector.map(Math.abs), 1e-12);
    const each = width / vector.length;
    vector.forEach((value, place) => {
      context.fillStyle = style.getPropertyValue(value < 0 ? '--tp-choice' : '--tp-accent');
      const size = (Math.abs(value) / most) * (height / 2);
      context.fillRect(place * each, value < 0 ? height / 2 : height / 2 - size, Math.max(each * 0.8, 0.6), size);
    });
  }

  canvas.addEventListener('pointermove', (event) => {
    const place = Math.floor((event.offsetX / canvas.clientWidth) * vector.length);
    if (vector[place] !== undefined) canvas.title = 'number ' + place + ': ' + signedNumber(vector[place], 4);
  });
  new ResizeObserver(draw).observe(canvas);
  new MutationObserver(draw).observe(document.body, { attributes: true, attributeFilter: ['class'] });
  return {
    element: canvas,
    show(made) {
      vector = made;
      canvas.setAttribute('aria-label', label + ', ' + count(made.length) + ' numbers as bars');
      draw();
    },
  };
}

function makeEmbeddingSection(look) {
  const side = makeSegments('side', 'which table', [['input', 'Input table'], ['output', 'Output table']], ask);
  const explained = el('p', 'explained');
  const vector = makeVectorBars('the vector');
  let subject = null; // {position, id}: a neighbour that was followed, from the token at that position

  const slot = makeSlot(look.ask, {
    waits: () => 'Reading ' + count(look.now().shape.vocabulary) + ' rows of the table …',
    draw({ look: found }, { id }) {
      const { reading, position, shape } = look.now();
      const back = id === reading.ids[position] ? null : button('', 'Back to ' + reading.tokens[position].name);
      if (back) back.addEventListener('click', () => { subject = null; ask(); });
      vector.show(found.vector);
      const largest = Math.max(...found.vector.map(Math.abs));
      return [
        el('div', 'tokenhead', el('span', 'big', tokenName(found.text)), el('small', '', 'id ' + found.token_id), back),
        el('div', 'facts', fact('numbers', count(found.vector.length)), fact('length (norm)', found.norm.toFixed(3)),
          fact('mean length of all rows', found.mean_norm.toFixed(3)), fact('largest number', largest.toFixed(3))),
        vector.element,
        el('p', 'keys', el('span', 'key plus', 'above zero'), el('span', 'key minus', 'below zero'), el('span', '', 'hover for a number')),
        el('h3', '', 'Nearest rows of the ' + (shape.tied ? '' : found.side + ' ') + 'table, by cosine'),
        neighbourTable(found.neighbours, (next) => { subject = { position, id: next }; ask(); }),
      ];
    },
  });

  const words = el('textarea');
  Object.assign(words, { id: 'inside-words', rows: 2, value: FIRST_WORDS, maxLength: 2000 });
  words.setAttribute('aria-label', 'words of the map, parted by commas');
  const draw = button('strong', 'Draw the map');
  draw.addEventListener('click', askMap);
  words.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey) return;
    event.preventDefault();
    askMap();
  });
  const figure = makeAnswerFigure('map of words by their embeddings; the cosines stand in the table below');
  const map = makeSlot(look.ask, {
    waits: (request) => 'Reading the rows of ' + count(request.words.length) + ' words …',
    draw: (answer) => {
      const { points, explained: shares, cosines } = answer.look;
      const several = points.filter((point) => point.ids.length > 1);
      return [
        figure.show(answer),
        el('p', 'said', 'The two axes are the first two principal components: they keep ', el('b', '', percent(shares[0] + shares[1])),
          ' of the spread of these words (' + percent(shares[0]) + ' and ' + percent(shares[1]) + '), so words that look close may lie apart. ',
          several.length ? 'Of several tokens, and drawn at the mean of their rows: ' + several.map((point) => point.word).join(', ') + '.' : ''),
        el('details', 'values', el('summary', '', 'Cosines in the full space'), cosineTable(points, cosines)),
      ];
    },
  });

  function ask() {
    const { reading, position, shape } = look.now();
    if (subject && subject.position !== position) subject = null;
    const id = subject ? subject.id : reading.ids[position];
    side.element.parentNode.hidden = shape.tied;
    explained.textContent = 'An id is only a number: the first thing the model does is to take row ' + count(id) + ' of its input table, '
      + count(shape.width) + ' numbers. ' + (shape.tied ? 'In this model the same table is also its output: a hidden state is compared with every row to score the next token. '
      : 'A second table, the output side, has the vectors that a hidden state is compared with to score the next token. ')
      + 'Near means pointing the same way (cosine), whatever the length.';
    slot.ask({ what: 'embedding', id, side: shape.tied ? 'input' : side.value() });
    if (map.element.dataset.state) askMap();
  }

  function askMap() {
    const { shape } = look.now();
    const chosen = wordsIn(words.value);
    if (chosen.length < 2) return map.say('A map needs two words or more, with commas between them.');
    if (chosen.length > MOST_WORDS) return map.say('A map takes up to ' + MOST_WORDS + ' words, and these are ' + count(chosen.length) + '.');
    return map.ask({ what: 'map', words: chosen, side: shape.tied ? 'input' : side.value() });
  }

  const element = el('div', 'cards',
    card('', heading('The vector of a token'), explained, el('div', 'row', side.element), slot.element),
    card('', heading('Words on a map', 'up to ' + MOST_WORDS + ', with commas'),
      el('p', 'explained', 'Each word as it is read inside a sentence, with a space before it. Words used alike lie close together, though nobody told the model what they mean.'),
      words, el('p', 'buttons', draw), map.element));
  return {
    element,
    open() {
      ask();
      if (!map.element.dataset.state) askMap();
    },
  };
}

// `choose(id)` hears which neighbour was clicked.
function neighbourTable(neighbours, choose) {
  const rows = neighbours.map((near, place) => {
    const name = button('plain', '');
    name.append(tokenName(near.text));
    name.title = 'id ' + near.token_id + ' · click: look at this token';
    name.setAttribute('aria-label', 'look at ' + near.text + ', cosine ' + near.cosine.toFixed(3));
    name.addEventListener('click', () => choose(near.token_id));
    const row = tableRow(count(place + 1), name, el('span', 'mini', bar('', Math.max(0, near.cosine))), near.cosine.toFixed(3).replace('-', '−'), near.norm.toFixed(3));
    row.dataset.id = near.token_id;
    return row;
  });
  return scrollTable('neighbours', 'nearest rows of the table', ['', 'token', '', 'cosine', 'length'], rows);
}

function cosineTable(points, cosines) {
  const rows = points.map((point, row) => {
    const line = tableRow(el('bdi', '', point.word), ...cosines[row].map((cosine) => cosine.toFixed(2).replace('-', '−')));
    [...line.querySelectorAll('td')].forEach((cell, column) => {
      cell.style.setProperty('--w', Math.round(Math.max(0, Math.min(1, cosines[row][column])) * 45) + '%');
    });
    return line;
  });
  return scrollTable('cosines', 'cosine of each pair of words', ['', ...points.map((point) => [el('bdi', '', point.word)])], rows);
}
