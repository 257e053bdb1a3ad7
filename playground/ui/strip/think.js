// Thought and answer told apart, in the chips and in the plain text.

function drawThought(find, run) {
  const lane = run.lanes[0];
  const { thought, answer, finished, until } = thoughtOf(run);
  const thinks = thought !== null;
  find('.thinking').hidden = !thinks;
  find('.plain').hidden = thinks;
  if (!thinks) return;
  find('.thinking .thought').textContent = thought.trim();
  find('.thinking .spoken').textContent = answer.trim();
  find('.thinking .unfinished').hidden = finished;
  find('.thinking .unfinished').textContent = lane.end ? 'Thought unfinished: it ended before an answer began.' : 'Thinking …';
  lane.chips.forEach((chip, index) => chip.classList.toggle('thought', lane.ends[index] <= until));
}
