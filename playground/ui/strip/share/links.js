// Links: settings, packed into the part of an address that no server sees (playground/links.py), and saved runs, by
// their id. Pure.

const LONGEST_LINK = 8000; // characters from the "#" on: what mail and chat programs carry whole
const LARGEST_LINK = 2 ** 20; // bytes of JSON that a link may unpack to
const LOST = 'This link is broken: some of it was lost or changed.';

// All bytes of a stream; nothing, as soon as there are more than `most`.
async function bytesOf(stream, most) {
  const parts = [];
  let length = 0;
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > most) {
      reader.cancel().catch(() => {});
      return null;
    }
    parts.push(value);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

// The link from its "#" on; null for settings that fit none.
async function settingsLink(setup) {
  const data = new Blob([JSON.stringify(plainSetup(setup))]);
  if (data.size > LARGEST_LINK) return null;
  const packed = await bytesOf(data.stream().pipeThrough(new CompressionStream('deflate-raw')), LONGEST_LINK);
  if (!packed) return null;
  const text = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(''));
  const link = '#s=' + text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  return link.length <= LONGEST_LINK ? link : null;
}

// The settings in a link. Throws an error whose message is a sentence.
async function settingsIn(link) {
  const packed = link.replace(/^#s=/, '');
  if (link.length > LONGEST_LINK) throw new Error('This link is too long: the most is ' + count(LONGEST_LINK) + ' characters.');
  if (packed === link || !/^[A-Za-z0-9_-]+$/.test(packed) || packed.length % 4 === 1) throw new Error(LOST);
  let data;
  let value;
  try {
    const bytes = Uint8Array.from(atob(packed.replaceAll('-', '+').replaceAll('_', '/')), (sign) => sign.charCodeAt(0));
    data = await bytesOf(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw')), LARGEST_LINK);
    if (data) value = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data));
  } catch {
    throw new Error(LOST);
  }
  if (!data) throw new Error('This link is broken: it unpacks to more than ' + count(LARGEST_LINK) + ' bytes.');
  return readSetup(value);
}

// `place`: {lane, index} of the token to open, or null. A lane of a run is its number or 'prompt'.
function replayLink(id, place) {
  return '#r=' + id + (place ? '&t=' + place.lane + '.' + place.index : '');
}

// {id, place} of a link to a saved run. Throws an error whose message is a sentence.
function replayIn(link) {
  const found = /^#r=([0-9a-f]{32})(?:&t=(prompt|[0-9]{1,3})\.([0-9]{1,7}))?$/.exec(link);
  if (!found) throw new Error(LOST);
  const [, id, lane, index] = found;
  return { id, place: lane === undefined ? null : { lane: lane === 'prompt' ? lane : Number(lane), index: Number(index) } };
}

// Where links of this page begin: where its server is known under another address, there. A query is this visitor's own.
function linkBase(address, location) {
  return (address || location).replace(/[?#].*$/s, '');
}
