// Comparisons as files: both ways they travel as base64 of gzip, and a person gets plain text.

const LARGEST_UPLOAD = 32 * 2 ** 20; // bytes

async function piped(blob, stream) {
  return new Response(blob.stream().pipeThrough(stream)).blob();
}

// Offers the download of what the server sent.
async function saveFile({ name, mime, data }) {
  const packed = Uint8Array.from(atob(data), (sign) => sign.charCodeAt(0));
  const plain = await piped(new Blob([packed]), new DecompressionStream('gzip'));
  const link = el('a');
  link.href = URL.createObjectURL(new Blob([plain], { type: mime }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function base64Of(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(',') + 1));
    reader.onerror = () => reject(new Error('The file cannot be read.'));
    reader.readAsDataURL(blob);
  });
}

// What a chosen file sends. Throws an error whose message is a sentence.
async function packedFile(file) {
  if (file.size > LARGEST_UPLOAD) throw new Error('This file has ' + bytesize(file.size) + '; the most is ' + bytesize(LARGEST_UPLOAD) + '.');
  const start = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const zipped = start[0] === 0x1f && start[1] === 0x8b;
  return base64Of(zipped ? file : await piped(file, new CompressionStream('gzip')));
}

// `on`: {save(format), open(data), fail(sentence)}.
function startFiles(root, place, on) {
  const saves = [['csv', 'Table as CSV'], ['numbers', 'Table as JSON'], ['json', 'Save comparison']].map(([format, label]) => {
    const press = button('save', label);
    press.dataset.format = format;
    press.addEventListener('click', () => on.save(format));
    return press;
  });
  place.querySelector('.saves').append(...saves);
  const input = place.querySelector('input[type=file]');

  async function open(file) {
    if (!file) return;
    try {
      on.open(await packedFile(file));
    } catch (error) {
      on.fail(error.message);
    }
  }

  input.addEventListener('change', () => { open(input.files[0]); input.value = ''; });
  root.addEventListener('dragover', (event) => {
    if (![...event.dataTransfer.types].includes('Files')) return;
    event.preventDefault();
    root.classList.add('dropping');
  });
  root.addEventListener('dragleave', (event) => { if (!root.contains(event.relatedTarget)) root.classList.remove('dropping'); });
  root.addEventListener('drop', (event) => {
    root.classList.remove('dropping');
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    open(event.dataTransfer.files[0]);
  });
  return {
    allow(possible) {
      for (const press of saves) press.disabled = !possible;
    },
  };
}
