// Where a reader is in the guide: kept in this browser, which may refuse, or hold what another version wrote.

const GUIDE_KEY = 'token-playground-guide';

// `text`: what was stored, or null. {page, tried: {name: true}, answered: {name: true}}. Pure.
function guideProgressOf(text, names) {
  let kept = null;
  try {
    kept = JSON.parse(text);
  } catch { /* broken: as if nothing stood there */ }
  const known = (what) => Object.fromEntries(names.filter((name) => kept?.[what]?.[name] === true).map((name) => [name, true]));
  return { page: names.includes(kept?.page) ? kept.page : names[0], tried: known('tried'), answered: known('answered') };
}

function makeGuideProgress(names) {
  let text = null;
  try { text = localStorage.getItem(GUIDE_KEY); } catch { /* a private window */ }
  let now = guideProgressOf(text, names);

  function keep(change) {
    now = { ...now, ...change };
    try { localStorage.setItem(GUIDE_KEY, JSON.stringify(now)); } catch { /* a private window: it lasts as long as the page */ }
  }

  return {
    page: () => now.page,
    open: (page) => keep({ page }),
    tried: (name) => now.tried[name] === true,
    answered: (name) => now.answered[name] === true,
    mark: (what, name) => keep({ [what]: { ...now[what], [name]: true } }),
    forget: () => keep(guideProgressOf(null, names)),
  };
}

// What tells one look from another: whose it is and the model stand elsewhere. Pure.
function lookKey({ model, owner, press, ...request }) {
  return JSON.stringify(Object.entries(request).sort(([one], [other]) => (one < other ? -1 : 1)));
}
