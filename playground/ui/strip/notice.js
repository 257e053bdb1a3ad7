// What kind of run is on the screen, where it is not the latest of the visitor's own.

// `acts`: {back() (to the latest turn), forget()}.
function showNotice(place, run, turns, acts) {
  const turn = turns.indexOf(run) + 1;
  const earlier = turn > 0 && turn < turns.length;
  const press = (label, act) => {
    const made = el('button', 'quiet', label);
    made.type = 'button';
    made.addEventListener('click', act);
    return made;
  };
  place.hidden = !run.recorded && !run.kept && !earlier;
  if (run.recorded) place.replaceChildren(...recordedWords(run));
  else if (earlier) place.replaceChildren(el('b', '', 'Turn ' + turn + ' of ' + turns.length + ', as it was.'), ' ', press('Back to turn ' + turns.length, acts.back));
  else if (run.kept) place.replaceChildren(el('b', '', 'Your last run, from this browser.'), ' ', press('Forget it', acts.forget));
}

// The run that was shipped, or a saved one: from a link or a file, which may go on where its own model runs.
function recordedWords({ recorded: { model, seed }, live, frozen }) {
  const name = el('bdi', '', model);
  if (live === undefined) return [el('b', '', 'Recorded run of ', name, ', seed ' + seed + '.'), ' Every token can be opened. Generate puts a live run in its place.'];
  if (live) return [el('b', '', 'Recorded with ', name, ', seed ' + seed + '.'), ' The same model runs here: go on live from any token.'];
  return [el('b', '', frozen)];
}
