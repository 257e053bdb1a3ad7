// A place in a panel for one answer of the server: says that it waits, shows the answer, or says why there is none.

// `waits(request)`: the sentence meanwhile; `draw(answer, request)`: the elements of an answer; `failed()` hears where
// there is none.
function makeSlot(ask, { waits, draw, failed = () => {} }) {
  const asker = makeAsker(ask);
  const wait = el('p', 'wait');
  const body = el('div', 'told');
  const element = el('div', 'slot', wait, body);
  wait.setAttribute('role', 'status');
  let asked = '';

  function become(state, sentence) {
    element.dataset.state = state;
    wait.textContent = sentence;
    element.dispatchEvent(new CustomEvent('settled', { bubbles: true }));
  }

  function fail(request, problem) {
    const said = problem.charAt(0).toUpperCase() + problem.slice(1);
    const words = el('p', 'problem', /[.!?…]$/.test(said) ? said : said + '.');
    const again = button('', 'Try again');
    again.addEventListener('click', () => send(request));
    body.replaceChildren(words, ...(/^not available here/i.test(problem) ? [] : [again]));
    become('failed', '');
    failed();
  }

  function send(request) {
    become('waiting', waits(request));
    asker.ask(request, (answer) => {
      if (answer.error) return fail(request, answer.error);
      body.replaceChildren(...draw(answer, request).filter(Boolean));
      return become('ready', '');
    });
  }

  return {
    element,
    // The same request again is not sent again: its answer stands there, or is on its way.
    ask(request) {
      const key = JSON.stringify(request);
      if (key === asked) return;
      asked = key;
      send(request);
    },
    // Nothing is asked: `words` say why.
    say(...words) {
      asker.drop();
      asked = '';
      body.replaceChildren(el('p', 'problem', ...words));
      become('ready', '');
    },
    forget() {
      asker.drop();
      asked = '';
      body.replaceChildren();
      delete element.dataset.state;
      wait.textContent = '';
    },
  };
}

// A switch of a few choices: [[value, label]…].
function makeSegments(name, label, choices, change) {
  const element = el('fieldset', 'segs', el('legend', 'hush', label));
  for (const [value, words] of choices) {
    const input = el('input');
    Object.assign(input, { type: 'radio', name: 'inside-' + name, value });
    input.addEventListener('change', () => change(value));
    element.append(el('label', '', input, el('span', '', words)));
  }
  const inputs = [...element.querySelectorAll('input')];
  inputs[0].checked = true;
  return { element, value: () => inputs.find((input) => input.checked).value };
}

// A table that scrolls in its card: heads are words, rows are elements.
function scrollTable(className, label, heads, rows, foot) {
  const cells = heads.map((head) => {
    const cell = el('th', '', ...[].concat(head));
    cell.scope = 'col';
    return cell;
  });
  const table = el('table', className, el('thead', '', el('tr', '', ...cells)), el('tbody', '', ...rows), foot ? el('tfoot', '', foot) : null);
  const scroll = el('div', 'scroll', table);
  scroll.tabIndex = 0;
  scroll.setAttribute('role', 'region');
  scroll.setAttribute('aria-label', label);
  return scroll;
}

function tableRow(head, ...cells) {
  const name = el('th', '', head);
  name.scope = 'row';
  return el('tr', '', name, ...cells.map((cell) => el('td', '', cell)));
}

// The chart of an answer, drawn once and filled anew each time. `dress(layout)` adds what the page knows.
function makeAnswerFigure(label, choose, dress = (layout) => layout) {
  const figure = makeFigure(label, choose);
  let made = null;
  const dressed = (theme) => ({ ...made[theme], layout: dress(made[theme].layout) });
  const draw = () => figure.show({ get light() { return dressed('light'); }, get dark() { return dressed('dark'); } });
  return {
    show(answer) {
      if (!answer.figure) return null;
      made = answer.figure;
      figure.element.style.minHeight = made.light.layout.height ? made.light.layout.height + 'px' : ''; // nothing jumps once it is drawn
      draw();
      return figure.element;
    },
    again() { if (made) draw(); },
  };
}
