// The chips of an answer in blocks, so that a long answer costs no more per token than a short one: the
// browser lays out and paints the last block, and leaves the others as they are.

// Whether a block of `length` chips ends with this token: at a line's end if there is one, else after a
// sentence, where the break looks like any other end of a line; at last anywhere. Pure.
function endsParagraph(hex, length) {
  if (length >= 32 && hex.endsWith('0a')) return 'line';
  if (length >= 96 && /(2e|21|3f)$/.test(hex)) return 'sentence';
  return length >= 192 ? 'length' : null;
}

function appendChips(lane, from) {
  for (let index = from; index < lane.chips.length; index += 1) {
    let block = lane.list.lastElementChild;
    const ended = block && endsParagraph(lane.steps[index - 1].hex, block.childElementCount);
    if (!block || ended) {
      block = el('div', ended && ended !== 'line' ? 'paragraph soft' : 'paragraph');
      lane.list.append(block);
    }
    block.append(lane.chips[index]);
  }
}
