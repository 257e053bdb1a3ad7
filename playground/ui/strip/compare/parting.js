// Where a lane leaves the reference: the two tokens there under both settings, why, and how far the two
// distributions are apart at every place that both lanes have.

// `ask(name, request)`: the server function of that name.
function makePartingPanel(place, { ask, select }) {
  const partings = makeAsker((request) => ask('parting', request));
  const divergences = makeAsker((request) => ask('divergence', request));
  const title = el('h2', '');
  const rows = el('div', 'rivals');
  const said = el('p', 'say');
  const chart = makeFigure('how far the two distributions are apart, token by token; each number stands in the table below', (point) => select(point.x - 1));
  const apart = el('div', 'apart', el('h3', '', 'How far apart the two lanes’ distributions are'), chart.element, el('p', 'said'));
  const values = el('details', 'values', el('summary', '', 'As numbers'), el('div', 'scroll'));
  apart.append(values);
  place.replaceChildren(el('div', 'heading', title), el('div', 'meeting', rows, said), apart);
  let shown = '';

  function hued(name, hue) {
    const square = el('i', 'hue');
    square.style.setProperty('--hue', hue);
    return el('span', 'owner', square, el('span', '', name));
  }

  function showParting(parting, reference, lane) {
    const both = [parting.reference_token, parting.lane_token].filter(Boolean);
    const heads = ['', hued(reference.name, reference.hue), hued(lane.name, lane.hue), el('span', 'owner', 'raw, both')];
    rows.hidden = !both.length;
    rows.replaceChildren(...(both.length ? [el('div', 'rival columns', ...heads.map((head) => el('span', '', head)))] : []),
      ...both.map((rival) => rivalRow(rival, reference.hue, lane.hue)));
    said.textContent = parting.sentence;
    said.hidden = !parting.sentence;
  }

  function showDivergence({ rows: list, figure }, { reference, lane, parts }) {
    chart.show(figure);
    const told = apart.querySelector('.said');
    const infinite = list.filter((row) => row.final === null).length;
    told.textContent = (parts === null ? '' : 'From token ' + count(parts + 2) + ' on each lane reads its own words, so the raw distributions differ too. ') + (infinite ? 'At ' + count(infinite) + ' of ' + count(list.length) + ' tokens the final divergence is infinite: '
      + reference.name + ' may pick what ' + lane.name + ' cannot.' : '');
    values.hidden = !list.length;
    const line = ({ index, raw, final, lost }) => el('tr', '', el('th', '', count(index + 1)), el('td', '', nats(raw)), el('td', '', nats(final)), el('td', '', percent(lost)));
    const table = el('table', '', el('thead', '', el('tr', '', ...['token', 'raw, nats', 'final, nats', 'lost'].map((name) => el('th', '', name)))), el('tbody', '', ...list.map(line)));
    const scroll = values.querySelector('.scroll');
    scroll.tabIndex = 0;
    scroll.setAttribute('role', 'region');
    scroll.setAttribute('aria-label', 'divergence, token by token');
    scroll.replaceChildren(table);
  }

  return {
    // `parts`: the index where `lane` leaves `reference`, or null. Both are {name, hue, ids, params}.
    show(request, { reference, lane, parts }) {
      place.hidden = false;
      title.replaceChildren('Where ', el('bdi', '', lane.name), ' leaves ', el('bdi', '', reference.name), parts === null ? '' : ': token ' + count(parts + 1));
      const key = JSON.stringify([request, reference.name, lane.name]);
      if (key === shown) return;
      shown = key;
      said.hidden = false;
      said.textContent = 'Working it out …';
      partings.ask(request, (answer) => {
        if (answer.error) {
          rows.hidden = true;
          said.textContent = answer.error;
        } else showParting(answer, reference, lane);
      });
      divergences.ask(request, (answer) => {
        apart.hidden = Boolean(answer.error) || !answer.rows.length;
        if (!apart.hidden) showDivergence(answer, { reference, lane, parts });
      });
    },
    hide() {
      place.hidden = true;
      shown = '';
      partings.drop();
      divergences.drop();
    },
  };
}

function nats(value) {
  if (value === null) return '∞';
  return value !== 0 && value < 0.0005 ? '<0.001' : value.toFixed(3);
}

// One of the two tokens: its final probability in each lane, cut or not, and the raw one.
function rivalRow(rival, referenceHue, laneHue) {
  const cell = (prob, hue, removedBy) => {
    const track = el('span', 'mini', bar(removedBy ? 'cut' : '', removedBy ? 0 : prob ?? 0));
    track.style.setProperty('--hue', hue);
    track.classList.toggle('cut', Boolean(removedBy));
    const number = removedBy ? el('small', '', 'cut: ' + stageName(removedBy)) : prob === null ? el('small', '', 'not available here') : el('b', '', percent(prob));
    return el('span', 'chance', track, number);
  };
  const row = el('div', 'rival', tokenName(rival.text), cell(rival.reference_final, referenceHue, rival.removed_by_reference),
    cell(rival.lane_final, laneHue, rival.removed_by_lane), cell(rival.prob, 'var(--tp-raw)', null));
  row.dataset.id = rival.token_id;
  return row;
}
