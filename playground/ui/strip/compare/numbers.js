// The lanes in numbers: a table that its heads sort.

// `choose(place)` hears which lane's row was clicked.
function makeNumbers(card, choose) {
  const table = card.querySelector('table');
  let shown = { rows: [], hues: [] };
  let order = { key: null, descending: false };

  function head(column) {
    const sorted = order.key === column.key;
    const arrow = el('span', 'arrow', sorted ? (order.descending ? '↓' : '↑') : '');
    arrow.setAttribute('aria-hidden', 'true');
    const press = el('button', '', el('span', '', column.label), arrow, column.unit ? el('small', '', column.unit) : null);
    press.type = 'button';
    press.addEventListener('click', () => {
      order = { key: column.key, descending: sorted ? !order.descending : column.key !== 'name' };
      draw();
      table.querySelector('th[data-key="' + CSS.escape(column.key) + '"] button').focus();
    });
    const cell = el('th', column.setting ? 'varied' : '', press);
    cell.scope = 'col';
    cell.dataset.key = column.key;
    cell.setAttribute('aria-sort', !sorted ? 'none' : order.descending ? 'descending' : 'ascending');
    return cell;
  }

  function draw() {
    const { rows, hues } = shown;
    const columns = columnsFor(rows);
    const column = columns.find(({ key }) => key === order.key);
    const places = column ? sortedPlaces(rows, column, order.descending) : rows.map((_, place) => place);
    const lines = places.filter((place) => hues[place] !== null).map((place) => {
      const hue = el('i', 'hue');
      hue.style.setProperty('--hue', hues[place]);
      const name = el('th', '', hue, el('span', '', rows[place].name));
      name.scope = 'row';
      const line = el('tr', '', name, ...columns.slice(1).map((each) => el('td', each.setting ? 'varied' : '', (each.text || each.of)(rows[place]))));
      line.dataset.lane = place;
      line.addEventListener('click', () => choose(place));
      return line;
    });
    table.replaceChildren(el('thead', '', el('tr', '', ...columns.map(head))), el('tbody', '', ...lines));
  }

  return {
    // `hues[place]`: the colour of a lane, or null for one that is no longer on the page.
    show(rows, hues) {
      shown = { rows, hues };
      card.hidden = !rows.length;
      draw();
    },
  };
}
