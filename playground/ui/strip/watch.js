// Watched tokens: how likely each was at every step, also where it is far from the top.

function svg(tag, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function makeWatched(tokens) {
  return tokens.map(({ id, text, typed, more }) => {
    const line = svg('path', { class: 'line', 'vector-effect': 'non-scaling-stroke' });
    const here = svg('path', { class: 'here', 'vector-effect': 'non-scaling-stroke' });
    const chart = svg('svg', { preserveAspectRatio: 'none', 'aria-hidden': 'true' }, here, line);
    const now = el('span', 'now');
    const row = el('div', 'row', tokenName(text), chart, now);
    row.title = 'id ' + id + (more ? ' · the first of the ' + (more + 1) + ' tokens of ' + typed : '');
    row.dataset.id = id;
    return { id, row, line, here, chart, now, steps: null, values: [], path: '' };
  });
}

// Brings the rows up to the steps of the lane; `index` is the step whose values are told.
function drawWatched(watched, steps, index) {
  for (const each of watched) {
    if (each.steps !== steps || each.values.length > steps.length) Object.assign(each, { steps, values: [], path: '' });
    const from = each.values.length;
    each.values.push(...watchedValues(steps, each.id, from));
    each.path += watchedPath(each.values, from);
    each.line.setAttribute('d', each.path);
    each.here.setAttribute('d', 'M' + index + ' 0V22');
    each.chart.setAttribute('viewBox', '0 0 ' + Math.max(1, steps.length - 1) + ' 22');
    const value = each.values[index];
    const told = value ? [el('b', '', percent(value.prob)), ' rank ' + count(value.rank)] : ['–'];
    each.now.replaceChildren(...told);
  }
}
