// Blocks of a lab's report, drawn.

const ALIGNED_LEFT = ['text', 'token', 'yes'];
const MARKED = { forced: 'put there', parted: 'here they part', end: 'the end', cut: 'cut off' };

function drawBlock(block) {
  return { say: drawSay, table: drawTable, chart: drawChart, strips: drawStrips, quote: drawQuote }[block.kind](block);
}

function drawSay({ parts }) {
  return el('p', 'say', ...sentence(parts));
}

function titled(className, title, ...children) {
  return el('section', 'card ' + className, el('div', 'heading', el('h3', '', title)), ...children);
}

function noted(note) {
  return note ? el('p', 'note', note) : null;
}

function drawTable(block) {
  return titled('table-card', block.title, gridOf(block), noted(block.note));
}

function gridOf({ title, columns, rows }) {
  const body = rows.map((row) => el('tr', '', ...row.map((text, place) => {
    const unit = columns[place][1];
    const cell = el(place ? 'td' : 'th', ALIGNED_LEFT.includes(unit) ? 'words' : 'number', unit === 'token' ? tokenName(text) : text);
    if (!place) cell.scope = 'row';
    return cell;
  })));
  const scroll = scrollTable('grid', title, columns.map(([name]) => name), body);
  scroll.querySelectorAll('thead th').forEach((head, place) => head.classList.add(ALIGNED_LEFT.includes(columns[place][1]) ? 'words' : 'number'));
  return scroll;
}

function drawChart({ title, figure, points, note }) {
  const made = makeFigure(title + ': the same numbers stand in the table below');
  made.element.style.minHeight = figure.light.layout.height + 'px'; // nothing jumps once it is drawn
  made.show(figure);
  const numbers = el('details', 'points', el('summary', '', 'The numbers'), gridOf(points));
  return titled('chart-card', title, made.element, noted(note), numbers);
}

function drawStrips({ title, shade, note, lanes }) {
  const rows = lanes.map((lane) => {
    const chips = el('div', 'chips');
    chips.setAttribute('role', 'list');
    chips.setAttribute('aria-label', 'tokens of ' + lane.name);
    chips.append(...lane.chips.map(drawChip));
    return el('div', 'strip-lane', el('h4', '', el('bdi', '', lane.name), lane.note ? el('small', '', ' ' + lane.note) : null), chips);
  });
  const marks = [...new Set(lanes.flatMap((lane) => lane.chips.map((chip) => chip[3])))].filter(Boolean);
  const keys = marks.map((mark) => {
    const key = el('span', 'mark-key', MARKED[mark]);
    key.dataset.mark = mark;
    return key;
  });
  const legend = shade || keys.length ? el('p', 'legend', shade ? el('span', 'scale', el('i', ''), shade) : null, ...keys) : null;
  return titled('strips-card', title, ...rows, legend, noted(note));
}

function drawChip([id, text, shade, mark, told]) {
  const chip = el('span', 'token', el('span', 'ink', text));
  chip.setAttribute('role', 'listitem');
  chip.dataset.id = id;
  chip.dataset.mark = mark;
  chip.style.setProperty('--s', shade);
  chip.classList.toggle('calm', shade < 0.03);
  chip.title = ['id ' + id, told, MARKED[mark]].filter(Boolean).join(' · ');
  return chip;
}

function drawQuote({ title, texts }) {
  return titled('quote-card', title, ...texts.map(([name, text]) => el('figure', 'quoted', el('figcaption', '', el('bdi', '', name)), el('blockquote', '', text))));
}
