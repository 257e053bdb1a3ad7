// Bytes of tokens to what a chip shows. Pure.

const SIGNS = { '\n': '⏎', '\t': '⇥', '\r': '␍', '\u007f': '␡', '\u00a0': '⍽' };
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Zs}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0]/gu;

// Text as it reads, but with a sign for every character that leaves no ink or would reorder its neighbours.
// Ordinary spaces stay: chips keep them, so that the strip reads as text.
function flowing(text) {
  const shown = text.replace(UNSEEN, (character) => {
    if (character === ' ') return ' ';
    if (SIGNS[character]) return SIGNS[character];
    const code = character.codePointAt(0);
    if (code < 32) return String.fromCharCode(0x2400 + code);
    return '‹U+' + code.toString(16).toUpperCase().padStart(4, '0') + '›';
  });
  return /^\p{M}/u.test(shown) ? '◌' + shown : shown;
}

function unhex(hex) {
  const bytes = new Uint8Array(hex.length / 2);
  for (let i = 0; i < bytes.length; i += 1) bytes[i] = parseInt(hex.substr(2 * i, 2), 16);
  return bytes;
}

function decode(bytes) {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

function spacedHex(hex) {
  return hex.toUpperCase().replace(/(..)(?=.)/g, '$1 ');
}

// Length of the UTF-8 character that begins at `bytes[at]`: 0 if the bytes end before it does, 1 for a byte
// that cannot begin one.
function characterLength(bytes, at) {
  const lead = bytes[at];
  const length = lead < 0x80 ? 1 : lead >= 0xc2 && lead < 0xe0 ? 2 : lead >= 0xe0 && lead < 0xf0 ? 3
    : lead >= 0xf0 && lead < 0xf5 ? 4 : 1;
  for (let i = 1; i < length; i += 1) {
    if (at + i >= bytes.length) return 0;
    if ((bytes[at + i] & 0xc0) !== 0x80) return 1;
  }
  return length;
}

// Where tokens share characters. `tokens` is [{hex, special}] in reading order; the answer has one entry per
// token: {text} for a token of whole characters; {text, broken} if its bytes are no character at all;
// {part, parts, text} for one that shares a character with its neighbours (text is that of the whole group);
// and {part, parts: null} while the character is incomplete.
function piecesOf(tokens) {
  const pieces = [];
  let group = []; // indices of tokens whose last character is not whole yet
  let bytes = [];
  // The first `number` tokens of the group, which are `length` bytes, share nothing with what follows.
  const close = (number, length, whole) => {
    const text = decode(new Uint8Array(bytes.splice(0, length)));
    group.splice(0, number).forEach((index, i) => {
      const broken = text.includes('\ufffd') && !tokens[index].hex.includes('efbfbd');
      pieces[index] = number > 1 || !whole ? { part: i + 1, parts: whole ? number : null, text }
        : broken ? { text, broken } : { text };
    });
  };
  // Closes as many tokens as end where a character ends.
  const closeWhole = () => {
    let at = 0;
    let end = 0;
    for (let number = 1; number <= group.length; number += 1) {
      end += tokens[group[number - 1]].hex.length / 2;
      while (at < end) {
        const length = characterLength(bytes, at);
        if (!length) return;
        at += length;
      }
      if (at === end) {
        close(number, end, true);
        number = at = end = 0;
      }
    }
  };
  tokens.forEach((token, index) => {
    if (token.special) {
      if (group.length) close(group.length, bytes.length, true); // a control token ends a broken run
      pieces[index] = { text: decode(unhex(token.hex)) };
      return;
    }
    group.push(index);
    bytes.push(...unhex(token.hex));
    closeWhole();
  });
  if (group.length) close(group.length, bytes.length, false);
  return pieces;
}
