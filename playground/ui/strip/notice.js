// What kind of run is on the screen, where it is not the latest of the visitor's own.

function showNotice(place, run, turns, back) {
  const turn = turns.indexOf(run) + 1;
  const earlier = turn > 0 && turn < turns.length;
  place.hidden = !run.recorded && !earlier;
  if (run.recorded) {
    const words = 'Recorded run of ' + run.recorded.model + ', seed ' + run.recorded.seed + '.';
    place.replaceChildren(el('b', '', words), ' Every token can be opened. Generate puts a live run in its place.');
  } else if (earlier) {
    const button = el('button', 'quiet', 'Back to turn ' + turns.length);
    button.type = 'button';
    button.addEventListener('click', back);
    place.replaceChildren(el('b', '', 'Turn ' + turn + ' of ' + turns.length + ', as it was.'), ' ', button);
  }
}
