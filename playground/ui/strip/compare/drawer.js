// The inspector of a selected token, in a drawer beside the lanes, or a sheet from the bottom on a phone.

// `board`: {run(), strips (the element with all chips), ask(request), fork(detail)}.
function startDrawer(root, drawer, board) {
  const look = makeInspector(drawer.querySelector('.cards'), { ask: board.ask, fork: board.fork });
  const rivals = makeRivals(board.ask);
  let still = false;
  const hidePopover = startPopover(root.querySelector('.popover'), board.strips, {
    rows: (chip, problem) => popoverOf(tokenOf(board.run(), placeOf(chip)), board.run().vocabulary, problem),
    more(chip, told) {
      const token = tokenOf(board.run(), placeOf(chip));
      if (token.prompt && token.prob !== null && !token.rivals) rivals.read(board.run(), token, ({ problem }) => told(problem));
    },
    fork: (chip, id) => board.fork({ ...placeOf(chip), id }),
  });

  function draw() {
    const run = board.run();
    const token = !drawer.hidden && run && run.selected && tokenOf(run, run.selected);
    if (!token) return;
    const { card } = run.lanes[run.selected.lane] || {};
    drawer.querySelector('.whose').textContent = card ? card.name : 'the prompt';
    drawer.style.setProperty('--hue', card ? card.hue() : 'var(--tp-raw)');
    look.show(token, run.selected, run, (token.prompt ? promptTokenName(token) : token.text) || spacedHex(token.hex));
    // The Playground's inspector is on the same page.
    drawer.querySelectorAll('[id]:not([id^="compare-"])').forEach((part) => { part.id = 'compare-' + part.id; });
  }

  // Share and the switch of themes stay in reach, as long as the header is on the screen.
  function stayBelow() {
    if (drawer.hidden) return;
    const header = document.querySelector('#header');
    drawer.style.setProperty('--below', Math.max(0, header ? header.getBoundingClientRect().bottom : 0) + 'px');
  }

  function open(place) {
    const run = board.run();
    markChip(run, place);
    drawer.hidden = false;
    stayBelow();
    root.classList.add('inspecting');
    still = true;
    hidePopover();
    draw();
    const sheet = drawer.offsetWidth === document.documentElement.clientWidth; // it must not cover what was tapped
    chipOf(run, place).scrollIntoView({ block: sheet ? 'start' : 'nearest' });
  }

  function close() {
    drawer.hidden = true;
    root.classList.remove('inspecting');
  }

  function leave() {
    close();
    const run = board.run();
    if (run && run.selected) chipOf(run, run.selected)?.focus();
  }

  walkChips(board.strips, {
    within: (chip) => chip.closest('[role="listbox"]'),
    hide: hidePopover,
    pick(chip) {
      roveTo(chip.closest('[role="listbox"]'), chip);
      open(placeOf(chip));
    },
  });
  window.addEventListener('scroll', stayBelow, { passive: true });
  // Chips move when the drawer opens: the one that comes to lie under a resting pointer was not meant.
  document.addEventListener('pointermove', () => { still = false; }, { passive: true });
  root.addEventListener('pointerover', (event) => { if (still) event.stopPropagation(); }, true);
  root.addEventListener('keydown', (event) => { if (event.key === 'Escape' && !drawer.hidden) leave(); });
  drawer.querySelector('.close').addEventListener('click', leave);
  return { draw, open, close, hidePopover };
}
