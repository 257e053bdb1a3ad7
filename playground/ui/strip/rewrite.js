// Editing in place: which tokens stay when their text is changed. Pure.

// Where the text of each token ends, in UTF-16 units, and the whole text as a text field would hold it.
function textOfTokens(tokens) {
  const pieces = piecesOf(tokens);
  let text = '';
  const ends = pieces.map((piece) => {
    const whole = piece.part === undefined || piece.part === piece.parts;
    text += whole ? piece.text.replace(/\r\n?/g, '\n') : '';
    return { end: text.length, whole };
  });
  return { text, ends };
}

// How many tokens end before the first changed character, and what is left to encode after them.
function keptOf(tokens, changed) {
  const { text, ends } = textOfTokens(tokens);
  let same = 0;
  while (same < text.length && same < changed.length && text[same] === changed[same]) same += 1;
  if (text === changed) return { kept: tokens.length, rest: '', changed: false };
  if (/[\ud800-\udbff]/.test(changed[same - 1] || '')) same -= 1; // never half a character
  let kept = 0;
  while (kept < tokens.length && ends[kept].end <= same) kept += 1;
  while (kept > 0 && !ends[kept - 1].whole) kept -= 1;
  return { kept, rest: changed.slice(kept ? ends[kept - 1].end : 0), changed: true };
}

function keptInWords({ kept, rest, changed }, total) {
  if (!changed) return 'Nothing is changed yet.';
  const stay = kept === 1 ? '1 token stays' : count(kept) + ' tokens stay';
  const length = [...rest].length;
  const read = !length ? 'nothing is encoded anew'
    : length === 1 ? '1 character after them is encoded anew' : count(length) + ' characters after them are encoded anew';
  return stay + ' of ' + count(total) + ', by their ids; ' + read + '.';
}
