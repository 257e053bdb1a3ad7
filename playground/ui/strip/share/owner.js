// Whose requests these are: drawn for each open page and told to nobody but the server, which keeps what this page
// asked for this page alone.

let presses = 0;
const press = () => (presses += 1); // orders may overtake each other on their way: this tells which came first

const owner = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
