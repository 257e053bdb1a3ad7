// The Guide tab: short pages on how an answer comes about, each with a picture of the Playground's run, something to try
// on the page itself, and a question.

async function startGuideBoard(element, props, watch, trigger, server) {
  const find = (selector) => element.querySelector(selector);
  const holder = find('.guide-holder');
  const recorded = props.value ? JSON.parse(props.value) : { model: '', looks: [] };
  const looks = new Map(recorded.looks.map(([request, answer]) => [lookKey(request), JSON.stringify(answer)]));
  const names = GUIDE_PAGES.map((page) => page.name);
  const progress = makeGuideProgress(names);
  let board = null; // the Playground's
  let run = null; // as the pages get it
  let visible = false;
  let drawn = null; // the page on the screen
  let returning = false; // from a task: its button gets the focus once the guide is in front

  const header = () => {
    const chip = document.querySelector('#model');
    return { state: chip?.dataset.state || 'loading', name: chip?.querySelector('b')?.textContent || '' };
  };
  const live = () => header().state === 'ready';
  const pageNow = () => GUIDE_PAGES.find((page) => page.name === progress.page());

  // A look at this run as JSON: the shipped answer where there is one, else the server's.
  async function ask(request) {
    const kept = run && run.model === recorded.model ? looks.get(lookKey(request)) : undefined;
    return kept === undefined ? server.inside({ model: run.model, ...request }) : kept;
  }

  const guide = {
    live, header, again: () => show(true),
    slot: (made) => makeSlot(ask, { waits: () => 'Asking the model …', ...made }),
    async inside(request) {
      const answer = JSON.parse(await ask(request));
      if (answer.error) throw new Error(answer.error);
      return answer.look;
    },
    recorded: () => board.begin(),
    open: openPage,
  };

  const tasks = startGuideTasks({
    guide,
    now: () => ({ run: board && board.now(), busy: isBusy() }),
    finished: (page) => {
      progress.mark('tried', page.name);
      showPages();
      if (visible && drawn === page.name) showTried(page);
    },
    returned: () => { returning = true; },
  });

  // Pages

  function showPages() {
    find('#guide-pages').replaceChildren(...GUIDE_PAGES.map((page, place) => {
      const done = progress.tried(page.name) && progress.answered(page.name);
      const entry = button('', '');
      entry.append(el('span', 'place', done ? '✓' : String(place + 1)), page.nav);
      if (done) entry.append(el('span', 'hush', ', done'));
      entry.dataset.page = page.name;
      entry.dataset.done = done ? 'yes' : 'no';
      if (page.name === progress.page()) entry.setAttribute('aria-current', 'page');
      return el('li', '', entry);
    }));
    const done = names.filter((name) => progress.tried(name) && progress.answered(name)).length;
    find('.guide-count').textContent = done + ' of ' + names.length + ' pages done';
  }

  function openPage(name, focus = true) {
    progress.open(name);
    showPages();
    show(true);
    const entry = find('#guide-pages [aria-current]');
    entry.parentNode.parentNode.scrollLeft = entry.parentNode.offsetLeft - 40;
    if (!focus) return;
    holder.querySelector('h2').focus({ preventScroll: true });
    if (element.getBoundingClientRect().top < 0) element.scrollIntoView({ block: 'start' });
  }

  function showTried(page) {
    const task = holder.querySelector('.guide-task');
    task.dataset.tried = String(progress.tried(page.name));
    task.querySelector('.guide-told').textContent = progress.tried(page.name) ? 'Done.' : '';
    showLive(page);
  }

  function showLive(page) {
    const begin = holder.querySelector('.guide-try');
    const waits = page.task.needsModel && !live();
    begin.disabled = waits;
    begin.textContent = progress.tried(page.name) ? 'Try it again' : 'Try it';
    holder.querySelector('.guide-waits').textContent = waits ? 'This needs the model: ' + (header().state === 'failed' ? 'none could be loaded.' : 'it is still loading.') : '';
  }

  function taskOf(page) {
    const begin = button('guide-try strong', 'Try it');
    begin.addEventListener('click', () => tasks.begin(page));
    const told = el('span', 'guide-told');
    told.setAttribute('role', 'status');
    return el('section', 'guide-task', el('h3', '', 'Try it'), el('p', '', page.task.words), el('p', 'guide-begin', begin, told, el('span', 'guide-waits')));
  }

  function turnTo(step) {
    const place = names.indexOf(progress.page()) + step;
    const made = button('', step < 0 ? '← Back' : place < names.length ? 'Next: ' + GUIDE_PAGES[place].nav + ' →' : 'The end');
    made.id = step < 0 ? 'guide-previous' : 'guide-next';
    made.disabled = place < 0 || place >= names.length;
    made.addEventListener('click', () => openPage(names[place]));
    return made;
  }

  function drawPage(page) {
    const title = el('h2', '', page.title);
    title.tabIndex = -1;
    const picture = el('div', 'guide-picture inside', ...page.draw(run, guide).filter(Boolean));
    picture.dataset.filled = 'yes';
    const question = fillQuestion(page.question, run);
    const article = el('article', 'guide-page',
      el('header', '', el('p', 'guide-place', 'Page ' + (names.indexOf(page.name) + 1) + ' of ' + names.length), title),
      el('div', 'guide-words', ...page.words(run, guide).map((words) => el('p', '', ...[].concat(words)))),
      picture, taskOf(page),
      makeGuideQuestion(question, progress.answered(page.name), () => {
        progress.mark('answered', page.name);
        showPages();
      }),
      el('footer', '', turnTo(-1), turnTo(1)));
    article.dataset.page = page.name;
    holder.replaceChildren(article);
    showTried(page);
  }

  function drawNothing(words) {
    const generate = button('strong', 'To the Playground');
    generate.addEventListener('click', () => openTabNamed('playground'));
    holder.replaceChildren(el('div', 'guide-nothing', el('p', '', words), generate));
  }

  // The run of the Playground, once that rests.
  function show(anew = false) {
    if (!visible || !board) return;
    const now = board.now();
    const page = pageNow();
    element.firstElementChild.dataset.busy = isBusy() ? 'yes' : 'no';
    if (!isBusy() && now && now.prompt.length && !sameRun(run, now)) {
      run = guideRunOf(now);
      drawn = null;
    }
    if (!run) return drawNothing(isBusy() ? 'An answer is being written. The guide begins when it ends.' : 'The guide speaks about an answer, and there is none yet: generate one on the Playground.');
    if (!anew && drawn === page.name) return showTried(page);
    drawPage(page);
    drawn = page.name;
    return undefined;
  }

  find('#guide-pages').addEventListener('click', (event) => {
    const entry = event.target.closest('[data-page]');
    if (entry) openPage(entry.dataset.page);
  });
  find('#guide-reset').addEventListener('click', () => {
    tasks.stop();
    progress.forget();
    openPage(progress.page(), false);
  });
  new IntersectionObserver(([entry]) => {
    visible = entry.isIntersecting;
    if (visible && tabInFront() === 'guide') tasks.rest();
    show();
    if (!visible || !returning) return;
    returning = false;
    holder.querySelector('.guide-try')?.focus();
  }).observe(element);
  new MutationObserver(() => show()).observe(document.documentElement, { attributes: true, attributeFilter: ['data-run'] });
  const chip = document.querySelector('#model');
  if (chip) new MutationObserver(() => show()).observe(chip, { attributes: true, attributeFilter: ['data-state'] });
  followModel(() => show(true));
  showPages();
  board = await borrow('run');
  show();
}

// What a page gets of a run: see readingOf (inside/strip.js), and how it was made.
function guideRunOf(run) {
  const lane = run.lanes[0];
  return {
    ...readingOf(run), prompt: run.prompt, segments: run.segments, params: lane.params, recorded: run.recorded,
    vocabulary: run.vocabulary, context: run.context, weights: run.weights,
  };
}

function sameRun(told, run) {
  return told !== null && told.run === run && told.steps === run.lanes[0].steps && told.ids.length === run.prompt.length + run.lanes[0].steps.length;
}

// Words and choices of a question may depend on the run.
function fillQuestion({ words, choices }, run) {
  const filled = (part) => (typeof part === 'function' ? part(run) : part);
  return { words: filled(words), choices: filled(choices) };
}
